/**
 * Changing jobs: one statement that finds, locks, changes, records the events and keeps the counters, for one job or a
 * hundred. It is one round trip and its own transaction, so the change and its event stand or fall together.
 */
import type { Queryable } from "../../platform/postgres/database.ts";
import { newUuid } from "../../platform/ids.ts";
import type { ChangeContext, Principal } from "../../platform/principal.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { TraceparentParam } from "../../platform/tracing/tracing.ts";
import { jobFieldNames, type JobPatch } from "../job.fields.ts";
import { diffSql, nextVersionSql, insertEventsSql, countStatusChangeSql } from "./change.sql.ts";
import { jobColumnsWithOwners, type JobRowWithOwners } from "../job.row.ts";
import { visibleTo } from "../job.visibility.ts";

/** A checked change of one job. */
export interface JobUpdate {
  markingNumber: string;
  /** What a caller may write, as it was checked; and of operators the carrier's status. */
  patch: JobPatch & { provider_status?: string | null };
  /** The versions that the caller allows; undefined: any. */
  expectedVersions?: readonly number[] | undefined;
}

/** What became of it. `unchanged`: the job held these values already, so there is no new version and no event. */
export type UpdateOutcome =
  /** `announced`: there is something to deliver to webhooks. */
  | { kind: "updated"; job: JobRowWithOwners; hasDeliveries: boolean }
  | { kind: "unchanged" | "version_mismatch"; job: JobRowWithOwners }
  | { kind: "not_found" };

type OutcomeRow = {
  place: number;
  matches: boolean;
  changed: boolean;
  announced: boolean;
} & JobRowWithOwners;

/**
 * Applies `updates`, each Marking Number at most once, and answers in their order. Rows are locked in the order of their
 * ids, so that two batches that overlap in any order wait for each other and never deadlock.
 */
export async function updateRows(
  database: Queryable,
  principal: Principal,
  updates: readonly JobUpdate[],
  context: ChangeContext,
): Promise<UpdateOutcome[]> {
  const rows = await database.query<OutcomeRow>(updateStatement(principal, updates, context));
  const outcomes: UpdateOutcome[] = updates.map(() => ({ kind: "not_found" }));
  for (const { place, matches, changed, announced: hasDeliveries, ...job } of rows) {
    outcomes[place] = changed
      ? { kind: "updated", job, hasDeliveries }
      : { kind: matches ? "unchanged" : "version_mismatch", job };
  }
  return outcomes;
}

const eventTrace = new TraceparentParam<OutcomeRow>(({ changed }) => changed);
const columns = [...jobFieldNames, "provider_status"];
const updatedColumns = jobColumnsWithOwners("updated.");
const oldColumns = jobColumnsWithOwners("(old).");
const newValues = raw(columns.map((name) => `new.${name}`).join(", "));
const assignments = raw(columns.map((name) => `${name} = patched.${name}`).join(", "));

/**
 * `jsonb_populate_record` does the patching: an absent key keeps the old value, null clears it, types are the columns'. The
 * limit cuts nothing off: with it PostgreSQL expects ten rows and not a hundred, for which it would read all of a table of
 * thousands of jobs instead of asking its index.
 */
function updateStatement(principal: Principal, updates: readonly JobUpdate[], context: ChangeContext): Sql {
  const input = updates.map(({ markingNumber, patch, expectedVersions }, place) => ({
    place,
    marking_number: markingNumber,
    patch,
    versions: expectedVersions,
    event_id: newUuid(),
  }));
  return sql`
    with input as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(input)}::jsonb)
        as input (place int, marking_number text, patch jsonb, versions jsonb, event_id uuid)
      limit ${updates.length}
    ), target as materialized (
      select job as old, job.id, job.normalized_status as old_status, input.patch, input.event_id, input.place,
        coalesce(input.versions @> to_jsonb(job.version), true) as matches
      from input join job on job.marking_number = input.marking_number
      where ${visibleTo(principal)} order by job.id for update of job
    ), patched as materialized (
      select target.id, old, old_status, event_id, place, matches, ${newValues},
        case when matches then ${diffSql} end as changes
      from target, jsonb_populate_record(old, patch) new
    ), updated as (
      update job set ${assignments}, ${nextVersionSql}
      from patched where job.id = patched.id and changes is not null
      returning job.*, to_jsonb(job) as json, old_status, place, event_id, changes
    ), ${insertEventsSql(
      sql`select event_id, case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end as type,
        id as job_id, agent_id, contractor_id, version, updated_at, changes, json as job from updated`,
      context,
      eventTrace,
    )}, counted as (${countStatusChangeSql(sql`
      select agent_id, contractor_id, old_status, normalized_status as new_status from updated
      where normalized_status <> old_status`)}
    )
    select place, true as matches, true as changed, exists (select from announced) as announced, ${updatedColumns}
    from updated
    union all select place, matches, false, false, ${oldColumns} from patched where changes is null`;
}
