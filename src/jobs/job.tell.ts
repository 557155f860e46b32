/** Whom a committed change is told to: workers that deliver webhooks, and whoever follows the jobs. */
import type { Transaction } from "../platform/database.ts";
import type { AssignedJobRow } from "./job.row.ts";

export interface Listeners {
  /** Called once a change is committed that webhooks are to be told of. */
  announce: () => void;
  /** Called then with the uuids of the organisations that see the changed jobs, each once: their agents and contractors. */
  happened: (organizationIds: readonly string[]) => void;
}

/** What became of one change; every kind but the first two changed nothing. */
type Told =
  | { readonly kind: "created" | "updated"; readonly job: AssignedJobRow; readonly announced: boolean }
  | { readonly kind: "unchanged" | "version_mismatch" | "not_found" | "taken" | "refused" };

/** To be called after the commit, and never for what was undone; with `tx` it waits for the commit of that. */
export function tell(listeners: Listeners, outcomes: readonly Told[], tx?: Transaction): void {
  if (tx) tx.afterCommit(() => tell(listeners, outcomes));
  else tellNow(listeners, outcomes);
}

function tellNow({ announce, happened }: Listeners, outcomes: readonly Told[]): void {
  const seers = new Set<string>();
  let isAnnounced = false;
  for (const outcome of outcomes) {
    if (outcome.kind !== "created" && outcome.kind !== "updated") continue;
    isAnnounced ||= outcome.announced;
    seers.add(outcome.job.agent_id);
    if (outcome.job.contractor_id !== null) seers.add(outcome.job.contractor_id);
  }
  if (isAnnounced) announce();
  if (seers.size > 0) happened([...seers]);
}
