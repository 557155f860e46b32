/** What every statement that changes jobs does beside the change: it records the event and keeps the counters. */
import type { ChangeContext } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/sql.ts";

/**
 * An insert of one event for each of `rows`: (event_id, type, new, changes), `new` being the job as it is now. It belongs
 * into the very statement of the change, so that both stand or fall together.
 */
export function recordEvents(rows: Sql, { actor, requestId }: ChangeContext): Sql {
  return sql`insert into job_event
      (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, changes, job)
    select event_id, type, (new).id, (new).agent_id, (new).contractor_id, (new).version,
      ${actor.type}, ${actor.id}::uuid, ${requestId}, changes, to_jsonb(new)
    from (${rows}) happened`;
}

/**
 * What differs between the composite values `old` and `new`, as `{field: {from, to}}`, looking at the keys of the jsonb
 * `patch`; null where nothing does.
 */
export const changesOf: Sql = sql`(
  select jsonb_object_agg(field, jsonb_build_object('from', before -> field, 'to', after -> field))
  from jsonb_object_keys(patch) field, to_jsonb(old) before, to_jsonb(new) after
  where before -> field is distinct from after -> field)`;

/**
 * An insert that records `moves`: rows of (agent_id, contractor_id, old_status, new_status), a status being null where
 * the job was, or is, not seen. See `job.counts.ts` for what becomes of them.
 */
export function recordCounts(moves: Sql): Sql {
  return sql`insert into job_count_change (organization_id, normalized_status, change)
    select organization_id, status, sum(change)::int from (${moves}) moves,
      lateral (values (agent_id, old_status, -1), (agent_id, new_status, 1),
        (contractor_id, old_status, -1), (contractor_id, new_status, 1)) part (organization_id, status, change)
    where organization_id is not null and status is not null
    group by organization_id, status having sum(change) <> 0`;
}
