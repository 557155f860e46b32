/** Notifies webhook workers and subscribers after a change is committed. */
import type { Transaction } from "../../core/postgres/transaction.ts";
import type { JobRow } from "../row.sql.ts";

export interface ChangeListeners {
  /** Called after a commit that created webhook deliveries. */
  notifyWorkers: () => void;
  /** Called after a commit with the distinct ids (UUIDs) of the organisations that can see the changed jobs. */
  notifySubscribers: (organizationIds: readonly string[]) => void;
}

/** Only `created` and `updated` jobs changed. */
type ChangeOutcome =
  | {
      readonly kind: "created" | "updated";
      readonly job: Pick<JobRow, "agent_id" | "contractor_id">;
      readonly hasDeliveries: boolean;
    }
  | {
      readonly kind:
        | "unchanged"
        | "version_mismatch"
        | "not_found"
        | "already_exists"
        | "agent_missing"
        | "rejected";
    };

/** Call it after the commit, or with the transaction `tx` to run after its commit. Never call it for a rolled-back change. */
export function notifyChanges(
  listeners: ChangeListeners,
  outcomes: readonly ChangeOutcome[],
  tx?: Transaction,
): void {
  if (tx) return tx.afterCommit(() => notifyChanges(listeners, outcomes));
  const organizationIds = new Set<string>();
  let hasDeliveries = false;
  for (const outcome of outcomes) {
    if (outcome.kind !== "created" && outcome.kind !== "updated") continue;
    hasDeliveries ||= outcome.hasDeliveries;
    organizationIds.add(outcome.job.agent_id);
    if (outcome.job.contractor_id !== null) organizationIds.add(outcome.job.contractor_id);
  }
  if (hasDeliveries) listeners.notifyWorkers();
  if (organizationIds.size > 0) listeners.notifySubscribers([...organizationIds]);
}
