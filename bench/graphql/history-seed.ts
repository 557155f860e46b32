/** Adds history to the jobs of some agents, for the benchmarks that read it. The seed alone inserts no events. */
import type pg from "pg";
import type { BenchOrganization, JobsDatabase } from "../seed.ts";
import { EVENTS } from "./requests.ts";

const AGENTS = 4;

/** Picks four agents of medium size (6,000 of a million jobs) and gives each of their jobs at least `EVENTS` events. */
export async function seedAgentHistories({
  client,
  organizations,
}: JobsDatabase): Promise<BenchOrganization[]> {
  const all = organizations.filter(({ type }) => type === "agent");
  const agents = all.slice(all.length / 2, all.length / 2 + AGENTS);
  const inserted = await insertHistories(
    client,
    agents.map(({ id }) => id),
  );
  if (inserted > 0) await client.query("vacuum analyze job, job_event");
  return agents;
}

async function insertHistories(client: pg.Client, agentIds: readonly string[]): Promise<number> {
  const { rowCount } = await client.query(
    `with young as (
      update job set version = ${EVENTS} where agent_id = any($1::uuid[]) and version < ${EVENTS} returning *
    )
    insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, occurred_at, changes, job)
    select gen_random_uuid(), event.type, young.id, agent_id, contractor_id, sequence, 'key', young.agent_id,
      'req_01JD' || lpad(upper(substr(md5(young.id::text || sequence), 1, 22)), 22, '0'),
      created_at + sequence * interval '1 hour', changes, to_jsonb(young)
    from young, (values
      (1, 'job.created', '{}'::jsonb),
      (2, 'job.status_changed', '{"normalized_status": {"from": "pending", "to": "scheduled"}}'),
      (3, 'job.updated', '{"instructions": {"from": null, "to": "Ring twice"}, "scheduled_date": {"from": null, "to": "2026-11-02"}}'),
      (4, 'job.status_changed', '{"normalized_status": {"from": "scheduled", "to": "out_for_delivery"}}'),
      (5, 'job.status_changed', '{"normalized_status": {"from": "out_for_delivery", "to": "failed"}, "failure_reason": {"from": null, "to": "recipient_unavailable"}}')
    ) event (sequence, type, changes)
    on conflict (job_id, sequence) do nothing`,
    [agentIds],
  );
  return rowCount ?? 0;
}
