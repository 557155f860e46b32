/**
 * Updates up to 100 jobs in one statement that also inserts the events, their webhook deliveries and the counter deltas. As a
 * single statement it needs one round trip and is atomic. `upsert.sql.ts` shares the parts that record a change.
 */
import type { Queryable } from "../../core/postgres/database.ts";
import { newUuid, uuidV7Sql } from "../../core/ids.ts";
import type { ChangeContext, Principal } from "../../core/principal.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { insertTraced } from "../../core/tracing/tracing.ts";
import { jobFieldNames, type JobPatch } from "../fields.ts";
import { jobColumns, type JobRow } from "../row.sql.ts";
import { visibleTo } from "../visibility.sql.ts";

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
  | { kind: "updated"; job: JobRow; hasDeliveries: boolean }
  | { kind: "unchanged"; job: JobRow }
  | { kind: "version_mismatch"; job: JobRow }
  | { kind: "not_found" };

type OutcomeRow = {
  item_index: number;
  matches: boolean;
  changed: boolean;
  has_deliveries: boolean;
} & JobRow;

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
  const rows = await insertTraced<OutcomeRow, Sql>(
    database,
    (traceparent) => updateStatement(principal, updates, { ...context, traceparent }),
    ({ changed }) => changed,
  );
  const outcomes: UpdateOutcome[] = updates.map(() => ({ kind: "not_found" }));
  for (const { item_index: index, matches, changed, has_deliveries: hasDeliveries, ...job } of rows) {
    outcomes[index] = changed
      ? { kind: "updated", job, hasDeliveries }
      : { kind: matches ? "unchanged" : "version_mismatch", job };
  }
  return outcomes;
}

const columns = [...jobFieldNames, "provider_status"];
const updatedColumns = jobColumns("updated.");
const oldColumns = jobColumns("(old).");
const newValues = raw(columns.map((name) => `new.${name}`).join(", "));
const assignments = raw(columns.map((name) => `${name} = patched.${name}`).join(", "));

/**
 * `jsonb_populate_record` applies the patch: an absent key keeps the old value, null clears it. The limit drops no rows. It
 * lowers the planner's row estimate, so that PostgreSQL uses the index instead of a sequential scan.
 */
function updateStatement(principal: Principal, updates: readonly JobUpdate[], context: TracedChange): Sql {
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
    )}, counter_deltas as (${countStatusChangeSql(sql`
      select agent_id, contractor_id, old_status, normalized_status as new_status from updated
      where normalized_status <> old_status`)}
    )
    select job.*, agent.name as agent_name, contractor.name as contractor_name from (
      select item_index, true as matches, true as changed, exists (select from new_deliveries) as has_deliveries,
        ${updatedColumns}
      from updated
      union all select item_index, matches, false, false, ${oldColumns} from patched where changes is null
    ) job left join organization agent on agent.id = job.agent_id
      left join organization contractor on contractor.id = job.contractor_id`;
}

/**
 * Assignments for `update job set …`: the next version and a later `updated_at`. Both always increase, even if transactions
 * overlap or the clock was set back, because PostgreSQL evaluates them on the locked row.
 */
export const nextVersionSql = raw(
  "version = next_version(job.version), updated_at = greatest(clock_timestamp(), job.updated_at + interval '1 ms')",
);

/** `traceparent`: stored with the events; null if the change is not traced. */
export type TracedChange = ChangeContext & { readonly traceparent: string | null };

/** The names of a job's organisations, which an event stores: it has the same body however often it is sent. */
export const organizationNamesSql = raw(`jsonb_build_object(
  'agent_name', (select name from organization where id = agent_id),
  'contractor_name', (select name from organization where id = contractor_id))`);

/** The job of an event after which its receiver can no longer see it, for rows with the job in `new`. */
export const removedJobSql = raw(
  "jsonb_build_object('id', (new).id, 'marking_number', (new).marking_number)",
);

/**
 * Two CTEs that insert the events of `rows` and their deliveries (`new_deliveries`), for the statement that changes the jobs.
 * `rows` has (event_id, type, job_id, agent_id, contractor_id, version, updated_at, job, changes); `job` is the job after the
 * change as jsonb. An event without agent is not in the history of the job, which has one event per version.
 */
export function insertEventsSql(rows: Sql, { actor, requestId, traceparent }: TracedChange): Sql {
  return sql`recorded_events as (
      insert into job_event
        (id, type, job_id, agent_id, contractor_id, sequence, occurred_at, actor_type, actor_id, request_id, trace_parent,
          changes, job)
      select event_id, type, case when agent_id is null then event_id else job_id end, agent_id, contractor_id, version,
        updated_at, ${actor.type},
        ${actor.id}::uuid, ${requestId}, ${traceparent}::text, changes, job || ${organizationNamesSql}
      from (${rows}) new_events
      returning id, type, (job ->> 'id')::uuid as job_id, agent_id, contractor_id
    ), new_deliveries as (${fanOutSql(raw("recorded_events"))})`;
}

/**
 * Inserts one delivery per event and subscribed endpoint of the organisations that can see the event, and returns one row per
 * delivery. `events` has (id, type, job_id, agent_id, contractor_id). Deliveries of paused or disabled endpoints are on hold.
 */
export function fanOutSql(events: Sql): Sql {
  return sql`insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
    select ${uuidV7Sql}, endpoint.id, event.id, event.type, event.job_id
    from ${events} event
      cross join lateral (values (event.agent_id), (event.contractor_id)) audience (organization_id)
      join webhook_endpoint endpoint on endpoint.organization_id = audience.organization_id
    where endpoint.deleted_at is null
      and (endpoint.event_types is null or event.type = any(endpoint.event_types))
    returning 1`;
}

/**
 * The difference that the jsonb `patch` makes to the row `old`, as `{field: {from, to}}`; null if there is none. Numbers go
 * through float8 because PostgreSQL prints some doubles with other digits than JavaScript.
 */
export const diffSql: Sql = sql`(
  select jsonb_object_agg(field, jsonb_build_object('from', before -> field, 'to', value))
  from to_jsonb(old) before, jsonb_each(patch) each (field, raw_value),
    lateral (select case jsonb_typeof(raw_value) when 'number' then to_jsonb(raw_value::float8) else raw_value end as value) typed
  where before -> field is distinct from value)`;

/** Inserts counter deltas for `statusChanges`, rows of (agent_id, contractor_id, old_status, new_status). */
export function countStatusChangeSql(statusChanges: Sql): Sql {
  return countersSql(sql`
    select delta.* from (${statusChanges}) status_changes, lateral (values
      (agent_id, 'status', old_status, -1), (agent_id, 'status', new_status, 1),
      (contractor_id, 'status', old_status, -1), (contractor_id, 'status', new_status, 1)
    ) delta (organization_id, kind, value, change)`);
}

/**
 * Inserts counter deltas for `visibilityChanges`, rows of (organization_id, status, created_at, change). `change` is 1 if the
 * organisation can now see the job and -1 if it no longer can.
 */
export function countVisibilityChangeSql(visibilityChanges: Sql): Sql {
  return countersSql(sql`
    select delta.* from (${visibilityChanges}) visibility_changes, lateral (values
      (organization_id, 'status', status, change),
      (organization_id, 'created_day', (created_at at time zone 'UTC')::date::text, change)
    ) delta (organization_id, kind, value, change)`);
}

function countersSql(deltas: Sql): Sql {
  return sql`insert into job_counter_delta (organization_id, kind, value, change)
    select organization_id, kind, value, sum(change)::int from (${deltas}) deltas
    where organization_id is not null
    group by organization_id, kind, value having sum(change) <> 0`;
}
