/**
 * SQL for operators: creates, changes and assigns jobs. An assignment is a separate change with its own version and event.
 */
import type { Queryable } from "../../core/postgres/database.ts";
import { newUuid } from "../../core/ids.ts";
import type { ChangeContext } from "../../core/principal.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { insertTraced } from "../../core/tracing/tracing.ts";
import { jobFieldNames, type JobPatch } from "../fields.ts";
import type { JobRow } from "../row.sql.ts";
import {
  diffSql,
  nextVersionSql,
  insertEventsSql,
  countStatusChangeSql,
  countVisibilityChangeSql,
  removedJobSql,
  type TracedChange,
} from "./update-and-fan-out.sql.ts";

export interface JobUpsert {
  markingNumber: string;
  /** Null: change an existing job of any agent, but create none. */
  agentId: string | null;
  /** Null unassigns the job; undefined keeps its contractor. */
  contractorId?: string | null | undefined;
  patch: JobPatch;
  providerStatus?: string | null | undefined;
}

/**
 * `already_exists`: the Marking Number belongs to a job of another agent, or to any job if `onlyNew` is set.
 * `agent_missing`: the job does not exist and the upsert names no agent.
 */
type UpsertKind = "created" | "updated" | "unchanged" | "already_exists" | "agent_missing";

export interface UpsertOutcome {
  readonly kind: UpsertKind;
  /** The job's organisations after the upsert. */
  readonly job: Pick<JobRow, "agent_id" | "contractor_id">;
  readonly formerContractorId: string | null;
}

export interface UpsertContext extends ChangeContext {
  /** Create jobs only. Every existing job yields `already_exists`. */
  onlyNew?: boolean;
}

const columns = [...jobFieldNames, "provider_status"];
const columnList = raw(columns.join(", "));
const updateValues = raw(columns.map((name) => `(changed.new).${name}`).join(", "));
const insertValues = raw(columns.map((name) => `new_job.${name}`).join(", "));
/** The columns that `insertEventsSql` needs, for rows with the job in `new`. */
const eventColumns = raw(
  "(new).id as job_id, (new).agent_id, (new).contractor_id, (new).version, (new).updated_at, to_jsonb(new) as job",
);
/** The columns' defaults, which `jsonb_populate_record` does not apply. */
const COLUMN_DEFAULTS = JSON.stringify({ normalized_status: "pending", scheduled_delivery_pending: false });

/**
 * Applies `upserts` and returns the outcomes in order. Marking Numbers must be distinct. Needs a transaction because fields
 * and assignments are written by two statements.
 */
export async function upsertRows(
  queryable: Queryable,
  upserts: readonly JobUpsert[],
  context: UpsertContext,
): Promise<UpsertOutcome[]> {
  const rows = await upsertFields(queryable, upserts, context);
  const assignable = upserts.filter(
    ({ contractorId }, index) => contractorId !== undefined && isWritten(rows[index]?.kind),
  );
  const assigned = await assignContractors(queryable, assignable as Assignment[], context);
  return rows.map((row, index) => {
    const { markingNumber, contractorId = row.contractor_id } = upserts[index] as JobUpsert;
    const kind = row.kind === "unchanged" && assigned.has(markingNumber) ? "updated" : row.kind;
    return {
      kind,
      job: { agent_id: row.agent_id, contractor_id: contractorId },
      formerContractorId: assigned.get(markingNumber) ?? null,
    };
  });
}

export interface Assignment {
  markingNumber: string;
  contractorId: string | null;
}

/**
 * Sets or clears the contractor of jobs. The former contractors get `job.unassigned`. Returns the former contractor (UUID) of
 * each job that changed, by Marking Number.
 */
export async function assignContractors(
  queryable: Queryable,
  assignments: readonly Assignment[],
  context: ChangeContext,
): Promise<Map<string, string | null>> {
  if (assignments.length === 0) return new Map();
  const statement = (traceparent: string | null): Sql => sql`
    with input as (
      select * from unnest(
        ${assignments.map((assignment) => assignment.markingNumber)}::text[],
        ${assignments.map((assignment) => assignment.contractorId)}::uuid[],
        ${assignments.map(() => newUuid())}::uuid[],
        ${assignments.map(() => newUuid())}::uuid[]
      ) as input (marking_number, contractor_id, event_id, removal_id)
    ), target as (
      select job.id, job.contractor_id as old_contractor_id, input.contractor_id as new_contractor_id, input.event_id,
        input.removal_id
      from input join job on job.marking_number = input.marking_number
      where job.contractor_id is distinct from input.contractor_id order by job.id for update of job
    ), updated as (
      update job set contractor_id = target.new_contractor_id, ${nextVersionSql}
      from target where job.id = target.id and job.contractor_id is distinct from target.new_contractor_id
      returning job as new, target.old_contractor_id, target.event_id, target.removal_id,
        jsonb_build_object('contractor_id', jsonb_build_object('from', target.old_contractor_id, 'to', job.contractor_id)) as changes
    ), ${insertEventsSql(
      sql`select event_id, case when (new).contractor_id is null then 'job.updated' else 'job.assigned' end as type,
          ${eventColumns}, changes from updated
        union all select removal_id, 'job.unassigned', (new).id, null, old_contractor_id, (new).version, (new).updated_at,
          ${removedJobSql}, changes from updated where old_contractor_id is not null`,
      { ...context, traceparent },
    )}, counter_deltas as (${countVisibilityChangeSql(sql`
      select old_contractor_id as organization_id, (new).normalized_status as status, (new).created_at, -1 as change
      from updated
      union all select (new).contractor_id, (new).normalized_status, (new).created_at, 1 from updated`)}
    )
    select (new).marking_number as marking_number, old_contractor_id from updated`;
  const rows = await insertTraced<AssignedRow, Sql>(queryable, statement);
  return new Map(rows.map((row) => [row.marking_number, row.old_contractor_id]));
}

interface AssignedRow {
  readonly marking_number: string;
  readonly old_contractor_id: string | null;
}

interface UpsertRow {
  readonly kind: UpsertKind;
  readonly agent_id: string;
  /** The contractor before the upsert. */
  readonly contractor_id: string | null;
}

const isWritten = (kind?: UpsertKind): boolean => ["created", "updated", "unchanged"].includes(kind ?? "");

async function upsertFields(
  queryable: Queryable,
  upserts: readonly JobUpsert[],
  context: UpsertContext,
): Promise<UpsertRow[]> {
  const rows = await insertTraced<UpsertRow | { readonly kind: null }, Sql>(
    queryable,
    (traceparent) => upsertStatement(upserts, { ...context, traceparent }),
    isEvent,
  );
  // Null: another process created the job after this statement's snapshot. The retry finds it.
  const unresolved = upserts.filter((_, index) => rows[index]?.kind === null);
  const retried = unresolved.length > 0 ? await upsertFields(queryable, unresolved, context) : [];
  return rows.map((row) => (row.kind === null ? (retried.shift() as UpsertRow) : row));
}

const OWN_JOBS = [
  raw("(input.agent_id is null or job.agent_id = input.agent_id)"),
  raw("order by job.id for update of job"),
] as const;
const NO_UPDATES = [raw("false"), raw("")] as const;

const isEvent = ({ kind }: { kind: string | null }): boolean => kind === "created" || kind === "updated";

function patchJson({ patch, providerStatus }: JobUpsert): string {
  return JSON.stringify(providerStatus === undefined ? patch : { ...patch, provider_status: providerStatus });
}

/** Inserts new jobs in a fixed order, so that imports of the same Marking Numbers wait for each other and cannot deadlock. */
function upsertStatement(upserts: readonly JobUpsert[], context: UpsertContext & TracedChange): Sql {
  // With `onlyNew` existing jobs are not locked: they do not change, and waiting for them could deadlock.
  const [canUpdate, lock] = context.onlyNew ? NO_UPDATES : OWN_JOBS;
  return sql`
    with input as (
      select * from unnest(
        ${upserts.map((upsert) => upsert.markingNumber)}::text[],
        ${upserts.map((upsert) => upsert.agentId)}::uuid[],
        ${upserts.map(patchJson)}::jsonb[],
        ${upserts.map(() => newUuid())}::uuid[],
        ${upserts.map(() => newUuid())}::uuid[]
      ) with ordinality as input (marking_number, agent_id, patch, job_id, event_id, item_index)
    ), target as (
      select job as old, input.patch, input.event_id, input.item_index, ${canUpdate} as can_update
      from input join job on job.marking_number = input.marking_number ${lock}
    ), patched as (
      select target.*, new, ${diffSql} as changes
      from target, jsonb_populate_record(old, patch) new
      where can_update
    ), changed as (
      select * from patched where changes is not null
    ), updated as (
      update job set (${columnList}) = row(${updateValues}), ${nextVersionSql}
      from changed where job.id = (changed.old).id
      returning job as new, (changed.old).normalized_status as old_status, changed.item_index, changed.event_id,
        changed.changes
    ), clock as materialized (select clock_timestamp() as now), created as (
      insert into job (id, marking_number, agent_id, created_at, updated_at, ${columnList})
      select job_id, input.marking_number, input.agent_id, clock.now, clock.now, ${insertValues}
      from input left join target using (item_index), clock,
        jsonb_populate_record(null::job, ${COLUMN_DEFAULTS}::jsonb || input.patch) new_job
      where target.item_index is null and input.agent_id is not null
      order by input.marking_number collate "C"
      on conflict (marking_number) do nothing
      returning job as new
    ), created_with_event as (
      select created.new, input.event_id, input.item_index, (
        select coalesce(jsonb_object_agg(key, jsonb_build_object('from', null, 'to', value)), '{}')
        from jsonb_each(${COLUMN_DEFAULTS}::jsonb || patch) where value <> 'null') as changes
      from created join input on input.job_id = (created.new).id
    ), ${insertEventsSql(
      sql`select event_id, case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end as type,
          ${eventColumns}, changes from updated
        union all select event_id, 'job.created', ${eventColumns}, changes from created_with_event`,
      context,
    )}, status_deltas as (${countStatusChangeSql(sql`
      select (new).agent_id, (new).contractor_id, old_status, (new).normalized_status as new_status from updated
      where (new).normalized_status <> old_status`)}
    ), visibility_deltas as (${countVisibilityChangeSql(sql`
      select (new).agent_id as organization_id, (new).normalized_status as status, (new).created_at, 1 as change from created_with_event`)}
    )
    select case when created_with_event.item_index is not null then 'created'
      when updated.item_index is not null then 'updated'
      when target.can_update then 'unchanged'
      when not target.can_update then 'already_exists' when input.agent_id is null then 'agent_missing' end as kind,
      coalesce((target.old).agent_id, input.agent_id) as agent_id, (target.old).contractor_id
    from input left join target using (item_index) left join updated using (item_index)
      left join created_with_event using (item_index) order by item_index`;
}
