/**
 * Changing jobs: one statement that finds, locks, changes, records the events and keeps the counters, for one job or a
 * hundred. It is one round trip and its own transaction, so the change and its event stand or fall together.
 */
import type { Queryable } from "../platform/database.ts";
import { newUuid } from "../platform/ids.ts";
import type { ChangeContext, Principal } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";
import { jobFieldNames, type JobPatch } from "./job.fields.ts";
import { changesOf, recordCounts, recordEvents } from "./job.record.ts";
import { jobColumns, type JobRow } from "./job.row.ts";
import { visibleTo } from "./job.visibility.ts";

/** A checked change of one job. */
export interface JobUpdate {
  markingNumber: string;
  patch: JobPatch;
  /** The versions that the caller allows; undefined: any. */
  expectedVersions?: readonly number[] | undefined;
}

/** What became of it. `unchanged`: the job held these values already, so there is no new version and no event. */
export type UpdateOutcome =
  | { kind: "updated" | "unchanged"; job: JobRow }
  | { kind: "version_mismatch"; job: JobRow }
  | { kind: "not_found" };

type OutcomeRow = { found: boolean; matches: boolean; changed: boolean } & JobRow;

/**
 * Applies `updates`, each Marking Number at most once, and answers in their order. Rows are locked in the order of their
 * ids, so that two batches that overlap in any order wait for each other and never deadlock.
 */
export async function updateRows(
  database: Queryable,
  viewer: Principal,
  updates: readonly JobUpdate[],
  context: ChangeContext,
): Promise<UpdateOutcome[]> {
  const rows = await database.query<OutcomeRow>(updateStatement(viewer, updates, context));
  return rows.map(({ found, matches, changed, ...job }) => {
    if (!found) return { kind: "not_found" };
    if (!matches) return { kind: "version_mismatch", job };
    return { kind: changed ? "updated" : "unchanged", job };
  });
}

const editable = raw(jobFieldNames.join(", "));
const newValues = raw(jobFieldNames.map((name) => `(changed.new).${name}`).join(", "));

/** `jsonb_populate_record` does the patching: an absent key keeps the old value, null clears it, types are the columns'. */
function updateStatement(viewer: Principal, updates: readonly JobUpdate[], context: ChangeContext): Sql {
  const versions = updates.map(({ expectedVersions }) =>
    expectedVersions ? JSON.stringify(expectedVersions) : null,
  );
  return sql`
    with input as (
      select * from unnest(
        ${updates.map((update) => update.markingNumber)}::text[],
        ${updates.map((update) => JSON.stringify(update.patch))}::jsonb[],
        ${versions}::jsonb[],
        ${updates.map(() => newUuid())}::uuid[]
      ) with ordinality as input (marking_number, patch, versions, event_id, place)
    ), target as (
      select job as old, input.patch, input.event_id, input.place,
        coalesce(input.versions @> to_jsonb(job.version), true) as matches
      from input join job on job.marking_number = input.marking_number
      where ${visibleTo(viewer)} order by job.id for update of job
    ), patched as (
      select target.*, new, ${changesOf} as changes
      from target, jsonb_populate_record(old, patch) new
      where matches
    ), changed as (
      select * from patched where changes is not null
    ), updated as (
      update job set (${editable}) = row(${newValues}), version = job.version + 1, updated_at = now()
      from changed where job.id = (changed.old).id
      returning job as new, (changed.old).normalized_status as old_status, changed.place, changed.event_id, changed.changes
    ), recorded as (${recordEvents(
      sql`select event_id, new, changes,
        case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end as type from updated`,
      context,
    )}
    ), counted as (${recordCounts(sql`
      select (new).agent_id, (new).contractor_id, old_status, (new).normalized_status as new_status from updated
      where (new).normalized_status <> old_status`)}
    ), outcome as (
      select input.place, target.place is not null as found, target.matches, updated.place is not null as changed,
        coalesce(updated.new, target.old) as job
      from input left join target using (place) left join updated using (place)
    )
    select found, matches, changed, ${jobColumns("(job).")} from outcome order by place`;
}
