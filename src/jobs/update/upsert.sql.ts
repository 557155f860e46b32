/**
 * What operators do to jobs: create them, change any field of them, assign them. The statements are built like the
 * partners' update (`job.update.ts`), and an assignment is a change of its own, with its own version and event.
 */
import type { Queryable, Transaction } from "../../platform/postgres/database.ts";
import { newUuid } from "../../platform/ids.ts";
import type { ChangeContext } from "../../platform/principal.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { TraceparentParam } from "../../platform/tracing/tracing.ts";
import { jobFieldNames, type JobPatch } from "../job.fields.ts";
import {
  diffSql,
  nextVersionSql,
  insertEventsSql,
  countStatusChangeSql,
  countVisibilityChangeSql,
} from "./change.sql.ts";

/** A job to be there with these values: made where it is not, changed where it is. */
export interface JobUpsert {
  markingNumber: string;
  /** Null: a known job of any agent is changed, and none is created. */
  agentId: string | null;
  /** Null: assigned to nobody; undefined: as it is. */
  contractorId?: string | null | undefined;
  patch: JobPatch;
  providerStatus?: string | null | undefined;
}

/**
 * `taken`: the Marking Number is that of a job which is not to be changed: another agent's, or any where all are to be new.
 * `agentless`: no job has the Marking Number, and there is no agent to create one for.
 */
export interface UpsertOutcome {
  readonly kind: "created" | "updated" | "unchanged" | "taken" | "agentless";
  /** The job's agent; null if there is no such job. */
  readonly agentId: string | null;
  /** To whom the job is assigned now. */
  readonly contractorId: string | null;
}

export interface UpsertContext extends ChangeContext {
  /** Every job is to be made; one that is there already is `taken`, whosever it is. */
  onlyNew?: boolean;
}

const columns = [...jobFieldNames, "provider_status"];
const columnList = raw(columns.join(", "));
const updateValues = raw(columns.map((name) => `(changed.new).${name}`).join(", "));
const insertValues = raw(columns.map((name) => `fresh.${name}`).join(", "));
/** What `recordEvents` wants to know of a job that stands in \`new\`. */
const eventColumns = raw(
  "(new).id as job_id, (new).agent_id, (new).contractor_id, (new).version, (new).updated_at, to_jsonb(new) as job",
);
/** What a new job has where nothing is said: the columns' defaults, which `jsonb_populate_record` does not know. */
const COLUMN_DEFAULTS = JSON.stringify({ normalized_status: "pending", scheduled_delivery_pending: false });

/**
 * Applies `upserts`, each Marking Number at most once, and answers in their order. Part of the caller's transaction,
 * since a new job and its assignment belong together.
 */
export async function upsertRows(
  tx: Transaction,
  upserts: readonly JobUpsert[],
  context: UpsertContext,
): Promise<UpsertOutcome[]> {
  const written = await upsertFields(tx, upserts, context);
  const assignable = upserts.filter(
    (upsert, index) => upsert.contractorId !== undefined && !isRejected(written[index]),
  );
  const assigned = await assignContractors(tx, assignable as Assignment[], context);
  return written.map((outcome, at) => {
    const { markingNumber, contractorId = outcome.contractorId } = upserts[at] as JobUpsert;
    const isUpdated = outcome.kind === "unchanged" && assigned.has(markingNumber);
    return { ...outcome, kind: isUpdated ? "updated" : outcome.kind, contractorId };
  });
}

function isRejected(outcome: UpsertOutcome | undefined): boolean {
  return outcome?.kind === "taken" || outcome?.kind === "agentless";
}

export interface Assignment {
  markingNumber: string;
  contractorId: string | null;
}

/** Each row that is answered was assigned. */
const assignedTrace = new TraceparentParam(() => true);

/** Gives jobs to contractors (or to nobody) and answers with the Marking Numbers of those that changed hands. */
export async function assignContractors(
  queryable: Queryable,
  assignments: readonly Assignment[],
  context: ChangeContext,
): Promise<Set<string>> {
  if (assignments.length === 0) return new Set();
  const rows = await queryable.query<{ marking_number: string }>(sql`
    with input as (
      select * from unnest(
        ${assignments.map((assignment) => assignment.markingNumber)}::text[],
        ${assignments.map((assignment) => assignment.contractorId)}::uuid[],
        ${assignments.map(() => newUuid())}::uuid[]
      ) as input (marking_number, contractor_id, event_id)
    ), target as (
      select job.id, job.contractor_id as former, input.contractor_id as next, input.event_id
      from input join job on job.marking_number = input.marking_number
      where job.contractor_id is distinct from input.contractor_id order by job.id for update of job
    ), updated as (
      update job set contractor_id = target.next, ${nextVersionSql}
      from target where job.id = target.id and job.contractor_id is distinct from target.next
      returning job as new, target.former, target.event_id
    ), ${insertEventsSql(
      sql`select event_id, case when (new).contractor_id is null then 'job.updated' else 'job.assigned' end as type,
        ${eventColumns}, jsonb_build_object('contractor_id',
          jsonb_build_object('from', former, 'to', (new).contractor_id)) as changes from updated`,
      context,
      assignedTrace,
    )}, counted as (${countVisibilityChangeSql(sql`
      select former as organization_id, (new).normalized_status as status, (new).created_at, -1 as change from updated
      union all select (new).contractor_id, (new).normalized_status, (new).created_at, 1 from updated`)}
    )
    select (new).marking_number as marking_number from updated`);
  return new Set(rows.map((row) => row.marking_number));
}

async function upsertFields(
  queryable: Queryable,
  upserts: readonly JobUpsert[],
  context: UpsertContext,
): Promise<UpsertOutcome[]> {
  const rows = await queryable.query<UpsertRow>(upsertStatement(upserts, context));
  const outcomes = rows.map(({ kind, agent_id, contractor_id }) =>
    kind ? { kind, agentId: agent_id, contractorId: contractor_id } : null,
  );
  // Null: another process made the job between this statement's look and its insert. It is there now, so it is found.
  const unresolved = upserts.filter((_, index) => outcomes[index] === null);
  const retried = unresolved.length > 0 ? await upsertFields(queryable, unresolved, context) : [];
  return outcomes.map((outcome) => outcome ?? (retried.shift() as UpsertOutcome));
}

const OWN_JOBS = [
  raw("(input.agent_id is null or job.agent_id = input.agent_id)"),
  raw("order by job.id for update of job"),
] as const;
const NO_UPDATES = [raw("false"), raw("")] as const;

interface UpsertRow {
  kind: UpsertOutcome["kind"] | null;
  agent_id: string | null;
  contractor_id: string | null;
}

const upsertTrace = new TraceparentParam<UpsertRow>(({ kind }) => kind === "created" || kind === "updated");

function patchJson({ patch, providerStatus }: JobUpsert): string {
  return JSON.stringify(providerStatus === undefined ? patch : { ...patch, provider_status: providerStatus });
}

function upsertStatement(upserts: readonly JobUpsert[], context: UpsertContext): Sql {
  // What is left alone needs no lock, and who waits for none while he holds new jobs makes nobody wait in a circle.
  const [canUpdate, lock] = context.onlyNew ? NO_UPDATES : OWN_JOBS;
  return sql`
    with input as (
      select * from unnest(
        ${upserts.map((upsert) => upsert.markingNumber)}::text[],
        ${upserts.map((upsert) => upsert.agentId)}::uuid[],
        ${upserts.map(patchJson)}::jsonb[],
        ${upserts.map(() => newUuid())}::uuid[],
        ${upserts.map(() => newUuid())}::uuid[]
      ) with ordinality as input (marking_number, agent_id, patch, job_id, event_id, place)
    ), target as (
      select job as old, input.patch, input.event_id, input.place, ${canUpdate} as mine
      from input join job on job.marking_number = input.marking_number ${lock}
    ), patched as (
      select target.*, new, ${diffSql} as changes
      from target, jsonb_populate_record(old, patch) new
      where mine
    ), changed as (
      select * from patched where changes is not null
    ), updated as (
      update job set (${columnList}) = row(${updateValues}), ${nextVersionSql}
      from changed where job.id = (changed.old).id
      returning job as new, (changed.old).normalized_status as old_status, changed.place, changed.event_id, changed.changes
    ), moment as materialized (select clock_timestamp() as at), created as (
      insert into job (id, marking_number, agent_id, created_at, updated_at, ${columnList})
      select job_id, input.marking_number, input.agent_id, moment.at, moment.at, ${insertValues}
      from input left join target using (place), moment,
        jsonb_populate_record(null::job, ${COLUMN_DEFAULTS}::jsonb || input.patch) fresh
      where target.place is null and input.agent_id is not null
      -- In one order everywhere, so that two imports of the same new numbers wait for each other and never deadlock.
      order by input.marking_number collate "C"
      on conflict (marking_number) do nothing
      returning job as new
    ), born as (
      select created.new, input.event_id, input.place, (
        select coalesce(jsonb_object_agg(key, jsonb_build_object('from', null, 'to', value)), '{}')
        from jsonb_each(${COLUMN_DEFAULTS}::jsonb || patch) where value <> 'null') as changes
      from created join input on input.job_id = (created.new).id
    ), ${insertEventsSql(
      sql`select event_id, case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end as type,
          ${eventColumns}, changes from updated
        union all select event_id, 'job.created', ${eventColumns}, changes from born`,
      context,
      upsertTrace,
    )}, moved as (${countStatusChangeSql(sql`
      select (new).agent_id, (new).contractor_id, old_status, (new).normalized_status as new_status from updated
      where (new).normalized_status <> old_status`)}
    ), seen as (${countVisibilityChangeSql(sql`
      select (new).agent_id as organization_id, (new).normalized_status as status, (new).created_at, 1 as change from born`)}
    )
    select case when born.place is not null then 'created'
      when updated.place is not null then 'updated'
      when target.mine then 'unchanged'
      when not target.mine then 'taken' when input.agent_id is null then 'agentless' end as kind,
      coalesce((target.old).agent_id, input.agent_id) as agent_id, (target.old).contractor_id
    from input left join target using (place) left join updated using (place) left join born using (place)
    order by place`;
}
