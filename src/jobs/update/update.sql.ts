/**
 * Updates up to 100 jobs in one statement that also inserts the events, deliveries and counter deltas. As a single statement
 * it needs one round trip and is atomic.
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

/** A validated change to one job. */
export interface JobUpdate {
  markingNumber: string;
  /** The validated fields. Only operators can set `provider_status`. */
  patch: JobPatch & { provider_status?: string | null };
  /** The versions that the caller accepts; undefined accepts any. */
  expectedVersions?: readonly number[] | undefined;
}

/** `unchanged`: the job already had these values, so it gets no new version and no event. */
export type UpdateOutcome =
  /** `hasDeliveries`: the update created webhook deliveries. */
  | { kind: "updated"; job: JobRowWithOwners; hasDeliveries: boolean }
  | { kind: "unchanged" | "version_mismatch"; job: JobRowWithOwners }
  | { kind: "not_found" };

type OutcomeRow = {
  item_index: number;
  matches: boolean;
  changed: boolean;
  has_deliveries: boolean;
} & JobRowWithOwners;

/**
 * Applies `updates` and returns the outcomes in order. Marking Numbers must be distinct. Locks rows in id order, so that
 * overlapping batches wait for each other and cannot deadlock.
 */
export async function updateRows(
  database: Queryable,
  principal: Principal,
  updates: readonly JobUpdate[],
  context: ChangeContext,
): Promise<UpdateOutcome[]> {
  const rows = await database.query<OutcomeRow>(updateStatement(principal, updates, context));
  const outcomes: UpdateOutcome[] = updates.map(() => ({ kind: "not_found" }));
  for (const { item_index: index, matches, changed, has_deliveries: hasDeliveries, ...job } of rows) {
    outcomes[index] = changed
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
 * `jsonb_populate_record` applies the patch: an absent key keeps the old value, null clears it. The limit drops no rows. It
 * lowers the planner's row estimate, so that PostgreSQL uses the index instead of a sequential scan.
 */
function updateStatement(principal: Principal, updates: readonly JobUpdate[], context: ChangeContext): Sql {
  const input = updates.map(({ markingNumber, patch, expectedVersions }, index) => ({
    item_index: index,
    marking_number: markingNumber,
    patch,
    versions: expectedVersions,
    event_id: newUuid(),
  }));
  return sql`
    with input as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(input)}::jsonb)
        as input (item_index int, marking_number text, patch jsonb, versions jsonb, event_id uuid)
      limit ${updates.length}
    ), target as materialized (
      select job as old, job.id, job.normalized_status as old_status, input.patch, input.event_id, input.item_index,
        coalesce(input.versions @> to_jsonb(job.version), true) as matches
      from input join job on job.marking_number = input.marking_number
      where ${visibleTo(principal)} order by job.id for update of job
    ), patched as materialized (
      select target.id, old, old_status, event_id, item_index, matches, ${newValues},
        case when matches then ${diffSql} end as changes
      from target, jsonb_populate_record(old, patch) new
    ), updated as (
      update job set ${assignments}, ${nextVersionSql}
      from patched where job.id = patched.id and changes is not null
      returning job.*, to_jsonb(job) as json, old_status, item_index, event_id, changes
    ), ${insertEventsSql(
      sql`select event_id, case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end as type,
        id as job_id, agent_id, contractor_id, version, updated_at, changes, json as job from updated`,
      context,
      eventTrace,
    )}, counter_deltas as (${countStatusChangeSql(sql`
      select agent_id, contractor_id, old_status, normalized_status as new_status from updated
      where normalized_status <> old_status`)}
    )
    select item_index, true as matches, true as changed, exists (select from new_deliveries) as has_deliveries,
      ${updatedColumns}
    from updated
    union all select item_index, matches, false, false, ${oldColumns} from patched where changes is null`;
}
