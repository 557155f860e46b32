/** What every statement that changes jobs does beside the change: it records the event and keeps the counters. */
import type { ChangeContext } from "../../platform/principal.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import type { TraceparentParam } from "../../platform/tracing/tracing.ts";
import { fanOutSql } from "./fan-out.sql.ts";

/**
 * Assignments for `update job set …`: the next version and a later `updated_at`. PostgreSQL evaluates them on the locked row,
 * so both rise together, also when transactions overlap or the clock was set back. The column holds milliseconds.
 */
export const nextVersionSql = raw(
  "version = next_version(job.version), updated_at = greatest(clock_timestamp(), job.updated_at + interval '1 ms')",
);

/**
 * Two steps of a `with`: one event for each of `rows`: (event_id, type, job_id, agent_id, contractor_id, version, updated_at,
 * job, changes), `job` being the job after the change, in jsonb; and the deliveries of these events, as `announced`. They belong
 * into the very statement of the change, so that all stand or fall together. `trace` is where their trace is put.
 */
export function insertEventsSql(
  rows: Sql,
  { actor, requestId }: ChangeContext,
  trace: TraceparentParam<never>,
): Sql {
  return sql`recorded as (
      insert into job_event
        (id, type, job_id, agent_id, contractor_id, sequence, occurred_at, actor_type, actor_id, request_id, trace_parent,
          changes, job)
      select event_id, type, job_id, agent_id, contractor_id, version, updated_at, ${actor.type},
        ${actor.id}::uuid, ${requestId}, ${trace}::text, changes, job
      from (${rows}) happened
      returning id, type, job_id, agent_id, contractor_id
    ), announced as (${fanOutSql(raw("recorded"))})`;
}

/**
 * What the jsonb `patch` changes in the row `old`, as `{field: {from, to}}`; null where it changes nothing. Numbers are taken
 * as the columns hold them: of some doubles PostgreSQL writes other digits than JavaScript, which sent the patch.
 */
export const diffSql: Sql = sql`(
  select jsonb_object_agg(field, jsonb_build_object('from', before -> field, 'to', value))
  from to_jsonb(old) before, jsonb_each(patch) each (field, given),
    lateral (select case jsonb_typeof(given) when 'number' then to_jsonb(given::float8) else given end as value) held
  where before -> field is distinct from value)`;

/** An insert that counts `moves`: rows of (agent_id, contractor_id, old_status, new_status). See `job.counts.ts`. */
export function countStatusChangeSql(statusChanges: Sql): Sql {
  return countersSql(sql`
    select part.* from (${statusChanges}) moves, lateral (values
      (agent_id, 'status', old_status, -1), (agent_id, 'status', new_status, 1),
      (contractor_id, 'status', old_status, -1), (contractor_id, 'status', new_status, 1)
    ) part (organization_id, kind, value, change)`);
}

/**
 * An insert that counts `seen`: rows of (organization_id, status, created_at, change), for jobs that an organisation sees
 * from now on (1) or sees no more (-1).
 */
export function countVisibilityChangeSql(visibilityChanges: Sql): Sql {
  return countersSql(sql`
    select part.* from (${visibilityChanges}) seen, lateral (values
      (organization_id, 'status', status, change),
      (organization_id, 'created_day', (created_at at time zone 'UTC')::date::text, change)
    ) part (organization_id, kind, value, change)`);
}

function countersSql(deltas: Sql): Sql {
  return sql`insert into job_counter_delta (organization_id, kind, value, change)
    select organization_id, kind, value, sum(change)::int from (${deltas}) parts
    where organization_id is not null
    group by organization_id, kind, value having sum(change) <> 0`;
}
