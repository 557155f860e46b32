/** The benchmark's test data: organisations and their jobs, inserted in bulk with SQL. */
import type pg from "pg";
import { generateKey } from "../src/api-keys/format.ts";
import { rebuildCounters } from "../src/jobs/counters/counters.sql.ts";
import type { Queryable } from "../src/core/postgres/database.ts";
import { newUuid } from "../src/core/ids.ts";
import type { Sql } from "../src/core/postgres/sql.ts";
import { openDatabase, type BenchDatabase, type BenchPostgres } from "./database.ts";
import { onProgress } from "./environment.ts";

export interface BenchOrganization {
  id: string;
  type: "agent" | "contractor";
  jobs: number;
  key: string;
}

/** The share of all jobs that each agent and each contractor has. The shares of each type add up to 1. */
export interface SeedShares {
  agents: readonly number[];
  contractors: readonly number[];
}

/** An organisation's size is its rank to the power of minus this: the largest agent owns a tenth of all jobs, the smallest 1 in 250. */
const SIZE_EXPONENT = 0.7;
export const HISTORY_DAYS = 90;
const CHUNK = 50_000;

/** Returns the shares of organisations whose sizes follow Zipf's law, largest first. */
export function zipfShares(count: number): number[] {
  const weights = Array.from({ length: count }, (_, at) => (at + 1) ** -SIZE_EXPONENT);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Inserts jobs of the last 90 days in order of creation, as a production table would have them. */
export async function seed(
  client: pg.Client,
  jobs: number,
  { agents, contractors }: SeedShares = { agents: zipfShares(100), contractors: zipfShares(100) },
  { withEvents = false }: { withEvents?: boolean } = {},
): Promise<void> {
  await insertOrganizations(client, "agent", agents.length);
  await insertOrganizations(client, "contractor", contractors.length);
  const indexes = await dropIndexes(client);
  await client.query("select setseed(0.42)");
  await client.query("set synchronous_commit = off");
  for (let from = 1; from <= jobs; from += CHUNK) {
    const to = Math.min(jobs, from + CHUNK - 1);
    const ends = [cumulative(agents), cumulative(contractors)];
    await client.query(INSERT_JOBS, [from, to, jobs, ...ends, agents, withEvents]);
    onProgress(`${to.toLocaleString("en")} jobs`);
  }
  await client.query("set maintenance_work_mem = '512MB'");
  for (const index of indexes) await client.query(index);
  await client.query("reset maintenance_work_mem");
  await client.query("reset synchronous_commit");
  onProgress("indexes");
  await rebuildJobCounters(client);
}

export interface JobsDatabase extends BenchDatabase {
  organizations: BenchOrganization[];
}

/** Opens the jobs of 100 agents and 100 contractors, and issues new API keys. */
export async function openJobs(
  server: BenchPostgres,
  { jobs, fresh }: { jobs: number; fresh: boolean },
): Promise<JobsDatabase> {
  const fill = (client: pg.Client): Promise<void> => seed(client, jobs);
  const database = await openDatabase(server, { name: `jobs_${jobs}`, fill, isReused: !fresh });
  // The transaction loop of an earlier run did not maintain the counters.
  await rebuildJobCounters(database.client);
  return { ...database, organizations: await issueKeys(database.client) };
}

/** Rebuilds the counters on the benchmark's own connection, because the service's statement timeout is too short for it. */
async function rebuildJobCounters(client: pg.Client): Promise<void> {
  await client.query("begin");
  await rebuildCounters(createQueryable(client));
  await client.query("commit");
}

/** Runs the product's own statements on `client`, without the service's timeouts. */
export function createQueryable(client: pg.Client): Queryable {
  return {
    async query<Row>(statement: Sql) {
      return (await client.query(statement.compile())).rows as Row[];
    },
  };
}

/** Creates a new API key for each organisation, largest first. Old keys cannot be reused: the database has only their hashes. */
export async function issueKeys(client: pg.Client): Promise<BenchOrganization[]> {
  const { rows } = await client.query<{ id: string; type: "agent" | "contractor"; jobs: number }>(
    `select id, type, coalesce(sum(count), 0)::int as jobs
     from organization left join job_counter on organization_id = id and kind = 'status' group by id order by jobs desc`,
  );
  const keys = rows.map(() => generateKey());
  await client.query("delete from api_key");
  await client.query(
    `insert into api_key (id, prefix, secret_hash, organization_id, name, scopes, created_by)
     select * , 'bench', '{jobs:read,jobs:write,webhooks:manage}'::text[], 'bench'
     from unnest($1::uuid[], $2::text[], $3::bytea[], $4::uuid[])`,
    [
      keys.map(() => newUuid()),
      keys.map(({ prefix }) => prefix),
      keys.map(({ hash }) => hash),
      rows.map(({ id }) => id),
    ],
  );
  return rows.map((row, at) => ({ ...row, key: (keys[at] as { text: string }).text }));
}

async function insertOrganizations(client: pg.Client, type: string, count: number): Promise<void> {
  await client.query(
    `insert into organization (id, name, type)
     select gen_random_uuid(), $1::text || ' ' || n, $1::text from generate_series(1, $2::int) n`,
    [type, count],
  );
}

/** Returns the ends of all shares but the last; `width_bucket` of a random number then picks an organisation by size. */
function cumulative(shares: readonly number[]): number[] {
  let end = 0;
  return shares.slice(0, -1).map((share) => (end += share));
}

async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid in ('job'::regclass, 'job_search'::regclass, 'job_event'::regclass) and not indisunique`,
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

const INSERT_JOBS = `
  with agents as (select array_agg(id order by length(name), name) as ids from organization where type = 'agent'),
  contractors as (select array_agg(id order by length(name), name) as ids from organization where type = 'contractor'),
  drawn as (
    select n, random() as r1, random() as r2, random() as r3, random() as r4,
      width_bucket(random(), $4::float8[]) + 1 as agent, width_bucket(random(), $5::float8[]) + 1 as contractor,
      date_trunc('milliseconds', now() - interval '${HISTORY_DAYS} days' * (1 - n / $3::float8)) as born
    from generate_series($1::int, $2::int) n
  ), made as (
    insert into job (id, marking_number, agent_id, contractor_id, batch_number, group_code, piece_quantity, labels, pts,
      weight, recipient_name, recipient_contact, delivery_address, postal_code, scheduled_date, instructions,
      normalized_status, failure_reason, scheduled_delivery_date, scheduled_delivery_pending, provider_status,
      created_at, updated_at)
    select
      uuidv7(born - now()), 'MN' || lpad(n::text, 9, '0'), agents.ids[agent],
      case when r1 < 0.8 then contractors.ids[contractor] end,
      'B-' || agent || '-' || (n * ($6::float8[])[agent] / 50)::int,
      (array['EAST-1', 'EAST-2', 'WEST-1', 'NORTH-4'])[1 + (r2 * 4)::int % 4], 1 + (r3 * 8)::int,
      case when r4 < 0.3 then 'fragile,cold' end, round((r2 * 40)::numeric, 1), round((r3 * 30)::numeric, 2),
      'Recipient ' || substr(md5(n::text), 1, 10), '+65 5550 ' || lpad((r4 * 9999)::int::text, 4, '0'),
      (1 + (r2 * 400)::int) || ' Harbour Street, #' || lpad((r3 * 40)::int::text, 2, '0') || '-01',
      lpad((r1 * 999999)::int::text, 6, '0'), (born + interval '1 day' * (r2 * 10))::date,
      case when r3 < 0.5 then 'Leave with the concierge, or ring twice and wait' end,
      (array['completed', 'completed', 'completed', 'completed', 'completed', 'completed', 'in_transit',
        'out_for_delivery', 'pending', 'scheduled', 'assigned', 'returned', 'cancelled', 'failed', 'on_hold',
        'at_warehouse'])[1 + (r4 * 16)::int % 16],
      case when r4 > 0.8 and r4 < 0.9 then 'wrong_incomplete_address' end,
      case when r1 < 0.4 then (born + interval '1 day' * (r2 * 10))::date end, r1 > 0.9, 'provider_' || (r2 * 5)::int,
      born, least(now(), date_trunc('milliseconds', born + interval '5 days' * r3))
    from drawn, agents, contractors
    returning *
  )
  insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, occurred_at, changes, job)
  select uuidv7(created_at - now()), 'job.created', id, agent_id, contractor_id, 1, 'system', created_at, '{}', to_jsonb(made)
  from made where $7`;
