/** Whom a committed change is told to: workers that deliver webhooks, and whoever follows the jobs. */
import type { Transaction } from "../../platform/postgres/database.ts";
import type { JobRowWithOwners } from "../job.row.ts";

export interface ChangeListeners {
  /** Called once a change is committed that webhooks are to be told of. */
  notifyWorkers: () => void;
  /** Called then with the uuids of the organisations that see the changed jobs, each once: their agents and contractors. */
  notifySubscribers: (organizationIds: readonly string[]) => void;
}

/** What became of one change; every kind but the first two changed nothing. */
type ChangeOutcome =
  | { readonly kind: "created" | "updated"; readonly job: JobRowWithOwners; readonly hasDeliveries: boolean }
  | { readonly kind: "unchanged" | "version_mismatch" | "not_found" | "taken" | "refused" };

/** To be called after the commit, and never for what was undone; with `tx` it waits for the commit of that. */
export function notifyChanges(
  listeners: ChangeListeners,
  outcomes: readonly ChangeOutcome[],
  tx?: Transaction,
): void {
  if (tx) tx.afterCommit(() => notifyChanges(listeners, outcomes));
  else notifyNow(listeners, outcomes);
}

function notifyNow(
  { notifyWorkers, notifySubscribers }: ChangeListeners,
  outcomes: readonly ChangeOutcome[],
): void {
  const organizationIds = new Set<string>();
  let hasDeliveries = false;
  for (const outcome of outcomes) {
    if (outcome.kind !== "created" && outcome.kind !== "updated") continue;
    hasDeliveries ||= outcome.hasDeliveries;
    organizationIds.add(outcome.job.agent_id);
    if (outcome.job.contractor_id !== null) organizationIds.add(outcome.job.contractor_id);
  }
  if (hasDeliveries) notifyWorkers();
  if (organizationIds.size > 0) notifySubscribers([...organizationIds]);
}
