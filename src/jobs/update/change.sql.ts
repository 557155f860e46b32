/** SQL shared by all statements that change jobs: next version, events, webhook deliveries and counters. */
import type { ChangeContext } from "../../platform/principal.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import type { TraceparentParam } from "../../platform/tracing/tracing.ts";
import { fanOutSql } from "./fan-out.sql.ts";

/**
 * Assignments for `update job set …`: the next version and a later `updated_at`. Both always increase, even if transactions
 * overlap or the clock was set back, because PostgreSQL evaluates them on the locked row.
 */
export const nextVersionSql = raw(
  "version = next_version(job.version), updated_at = greatest(clock_timestamp(), job.updated_at + interval '1 ms')",
);

/**
 * Two CTEs that insert the events of `rows` and their deliveries (`new_deliveries`), for the statement that changes the jobs.
 * `rows` has (event_id, type, job_id, agent_id, contractor_id, version, updated_at, job, changes); `job` is the job after the
 * change as jsonb. `trace` is the parameter for the trace context.
 */
export function insertEventsSql(
  rows: Sql,
  { actor, requestId }: ChangeContext,
  trace: TraceparentParam<never>,
): Sql {
  return sql`recorded_events as (
      insert into job_event
        (id, type, job_id, agent_id, contractor_id, sequence, occurred_at, actor_type, actor_id, request_id, trace_parent,
          changes, job)
      select event_id, type, job_id, agent_id, contractor_id, version, updated_at, ${actor.type},
        ${actor.id}::uuid, ${requestId}, ${trace}::text, changes, job
      from (${rows}) new_events
      returning id, type, job_id, agent_id, contractor_id
    ), new_deliveries as (${fanOutSql(raw("recorded_events"))})`;
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
