/**
 * Seeds a service of a given size: organisations with 5,000 jobs each over the last 90 days, and one organisation with a tenth
 * of all jobs. Each job has one event; every tenth event was delivered.
 */
import pg from "pg";
import { entities } from "../../src/app/entities.ts";
import { migrateDatabase } from "../../src/core/postgres/migrate.ts";
import { insertFinished } from "../deliveries/log-growth.ts";
import { insertEndpoints, BENCH_TABLES } from "../deliveries/dataset.ts";
import { HISTORY_DAYS, SEED_COLUMNS, SEED_VALUES, rebuildJobCounters } from "../seed.ts";

export interface GrowthSeed {
  url: string;
  client: pg.Client;
  jobs: number;
  onProgress: (text: string) => void;
}

/** The organisation with a tenth of all jobs. */
export const LARGE_ORGANIZATION = "large";
const LARGE_SHARE = 0.1;
const JOBS_PER_ORGANIZATION = 5_000;
const CHUNK = 50_000;
const LARGE_TABLES = ["job", "job_event"];
/** Parallel sessions: PostgreSQL generates the rows, so one per core is enough. */
const SESSIONS = 2;
export const MESSAGES = 10_000;
const FINISHED_SHARE = 0.1;

/** Inserts rows before it creates indexes and constraints, and without synchronous commits until a final checkpoint. */
export async function seedGrowth(seed: GrowthSeed): Promise<void> {
  const { url, client, jobs, onProgress } = seed;
  await migrateDatabase({ url, poolSize: 2, entities });
  await using sessions = await openSessions(url);
  const organizations = Math.max(1, Math.round((jobs * (1 - LARGE_SHARE)) / JOBS_PER_ORGANIZATION));
  await client.query(INSERT_ORGANIZATIONS, [LARGE_ORGANIZATION, organizations]);
  const dropped = await dropIndexesAndConstraints(client);
  await inChunks(sessions, jobs, onProgress, (session, from, to) =>
    session.query(JOBS, [from, to, jobs, organizations]),
  );
  await runInParallel(sessions, dropped.indexes);
  onProgress("indexes");
  for (const constraint of dropped.constraints) await client.query(constraint);
  await seedDeliveries(seed, sessions);
  onProgress("deliveries");
  await rebuildJobCounters(client);
  onProgress("counters");
  for (const table of LARGE_TABLES) {
    // Vacuum runs at the start of each run instead, so that it never runs during a measurement.
    await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
  }
  await client.query("vacuum analyze");
  await client.query("checkpoint");
  onProgress("vacuum");
}

interface Sessions extends AsyncDisposable {
  all: pg.Client[];
}

async function openSessions(url: string): Promise<Sessions> {
  const all: pg.Client[] = [];
  for (let number = 0; number < SESSIONS; number += 1) {
    const session = new pg.Client({ connectionString: url });
    await session.connect();
    await session.query(
      "set synchronous_commit = off; set work_mem = '256MB'; set maintenance_work_mem = '1GB'",
    );
    all.push(session);
  }
  return {
    all,
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((session) => session.end()));
    },
  };
}

async function inChunks(
  { all }: Sessions,
  count: number,
  onProgress: (text: string) => void,
  work: (session: pg.Client, from: number, to: number) => Promise<unknown>,
): Promise<void> {
  let next = 1;
  const run = async (session: pg.Client): Promise<void> => {
    while (next <= count) {
      const from = next;
      next += CHUNK;
      await work(session, from, Math.min(count, from + CHUNK - 1));
      if ((next - 1) % 500_000 === 0) onProgress(`${(next - 1).toLocaleString("en")} jobs`);
    }
  };
  await Promise.all(all.map(run));
}

async function runInParallel({ all }: Sessions, statements: readonly string[]): Promise<void> {
  const left = [...statements];
  await Promise.all(
    all.map(async (session) => {
      for (let statement = left.shift(); statement !== undefined; statement = left.shift())
        await session.query(statement);
    }),
  );
}

interface DroppedDefinitions {
  indexes: string[];
  constraints: string[];
}

/** Drops all indexes and constraints of the two large tables and returns the statements that restore them. */
async function dropIndexesAndConstraints(client: pg.Client): Promise<DroppedDefinitions> {
  const { rows: constraints } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where conrelid = any($1::text[]::regclass[]) and contype in ('p', 'u', 'f') order by contype desc`,
    [LARGE_TABLES],
  );
  for (const { table, name } of constraints)
    await client.query(`alter table ${table} drop constraint ${name}`);
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = any($1::text[]::regclass[])`,
    [LARGE_TABLES],
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  return {
    indexes: indexes.map(({ definition }) => definition),
    constraints: constraints.map(
      ({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`,
    ),
  };
}

/** Inserts endpoints of an organisation without jobs, so that changes cause no deliveries, and their messages and log. */
async function seedDeliveries({ client, jobs }: GrowthSeed, { all }: Sessions): Promise<void> {
  await client.query(BENCH_TABLES);
  const { rows } = await client.query<{ id: string }>("select id from organization where name = 'receivers'");
  await insertEndpoints(
    client,
    "http://127.0.0.1:1",
    rows.map(({ id }) => id),
  );
  await client.query(MESSAGES_OF_EVENTS, [MESSAGES, jobs]);
  const finished = Math.ceil((jobs * FINISHED_SHARE) / all.length);
  await Promise.all(all.map((session) => insertFinished(session, finished)));
}

const INSERT_ORGANIZATIONS = `
  insert into organization (id, name, type)
  select md5('agent 0')::uuid, $1::text, 'agent'
  union all select md5('receivers')::uuid, 'receivers', 'agent'
  union all select md5(type || ' ' || n)::uuid, type || ' ' || n, type
    from generate_series(1, $2::int) n, unnest(array['agent', 'contractor']) type`;

const JOBS = `
  with drawn as (
    select n, random() as r1, random() as r2, random() as r3, random() as r4,
      case when random() < ${LARGE_SHARE} then 0 else 1 + floor(random() * $4)::int end as agent,
      1 + floor(random() * $4)::int as contractor,
      date_trunc('milliseconds', now() - interval '${HISTORY_DAYS} days' * (1 - n / $3::float8)) as born
    from generate_series($1::int, $2::int) n
  ), made as (
    insert into job ${SEED_COLUMNS}
    select
      uuidv7(born - now()), 'MN' || lpad(n::text, 9, '0'), md5('agent ' || agent)::uuid,
      case when r1 < 0.8 then md5('contractor ' || contractor)::uuid end,
      'B-' || agent || '-' || (n / $3::float8 * case agent when 0 then $3 * ${LARGE_SHARE} else ${JOBS_PER_ORGANIZATION} end / 50)::int,
      ${SEED_VALUES}
    from drawn
    returning *
  )
  insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, occurred_at, changes, job)
  select uuidv7(created_at - now()), 'job.created', id, agent_id, contractor_id, 1, 'system', created_at, '{}', to_jsonb(made)
  from made`;

/** Picks events of jobs at equal intervals over the 90 days. */
const MESSAGES_OF_EVENTS = `
  insert into bench_message
  select number, number % (select count(*)::int from bench_endpoint), job_event.id, '', ''
  from generate_series(1, $1::int) number
    join job on marking_number = 'MN' || lpad(ceil(number * $2::float8 / $1::int)::text, 9, '0')
    join job_event on job_event.job_id = job.id`;
