/**
 * The database of one size: organisations with 5,000 jobs each over the last 90 days, and one organisation with a tenth of all
 * jobs. Each job has one event; every tenth event was delivered.
 */
import type pg from "pg";
import { openDatabase, type BenchDatabase, type BenchPostgres } from "../database.ts";
import { BENCH_TABLES, insertEndpoints, insertFinished } from "../deliveries/dataset.ts";
import { onProgress } from "../environment.ts";
import { issueKeys, seed, type BenchOrganization } from "../seed.ts";

export interface GrowthDataset extends BenchDatabase {
  jobs: number;
  /** The organisations with 5,000 jobs each. */
  regularOrganizations: BenchOrganization[];
  /** The organisation with a tenth of all jobs. */
  largeOrganization: BenchOrganization;
  /** Signing secrets, by endpoint number. */
  secrets: string[];
}

const LARGE_SHARE = 0.1;
const JOBS_PER_ORGANIZATION = 5_000;
/** Messages of the backlog that the deliveries row sends. */
export const MESSAGES = 10_000;
const FINISHED_SHARE = 0.1;
/** The first agent of the seed. */
const LARGE_NAME = "agent 1";

export async function openGrowthDataset(
  server: BenchPostgres,
  { jobs, fresh }: { jobs: number; fresh: boolean },
): Promise<GrowthDataset> {
  const database = await openDatabase(server, {
    name: `growth_${jobs}`,
    isReused: !fresh,
    fill: (client) => fill(client, jobs),
  });
  const { client } = database;
  const organizations = await issueKeys(client);
  const { rows: named } = await client.query<{ id: string }>("select id from organization where name = $1", [
    LARGE_NAME,
  ]);
  const { rows } = await client.query<{ secret: string }>("select secret from bench_endpoint order by n");
  const isLarge = ({ id }: BenchOrganization): boolean => id === named[0]?.id;
  return {
    ...database,
    jobs,
    regularOrganizations: organizations.filter((one) => !isLarge(one) && one.jobs > 0),
    largeOrganization: organizations.find(isLarge) as BenchOrganization,
    secrets: rows.map(({ secret }) => secret),
  };
}

async function fill(client: pg.Client, jobs: number): Promise<void> {
  const count = Math.max(1, Math.round((jobs * (1 - LARGE_SHARE)) / JOBS_PER_ORGANIZATION));
  const equal = Array.from({ length: count }, () => 1 / count);
  const agents = [LARGE_SHARE, ...equal.map((share) => share * (1 - LARGE_SHARE))];
  await seed(client, jobs, { agents, contractors: equal }, { withEvents: true });
  // The endpoints belong to an organisation without jobs, so that changes cause no deliveries.
  const { rows } = await client.query<{ id: string }>(
    "insert into organization (id, name, type) values (gen_random_uuid(), 'receivers', 'agent') returning id",
  );
  await client.query(BENCH_TABLES);
  await insertEndpoints(
    client,
    rows.map(({ id }) => id),
  );
  await client.query(MESSAGES_OF_EVENTS, [MESSAGES, jobs]);
  await insertFinished(client, Math.ceil(jobs * FINISHED_SHARE));
  onProgress("deliveries");
  // Vacuum runs at the start of each run instead, so that it never runs during a measurement.
  for (const table of ["job", "job_event"])
    await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
}

/** Picks events of jobs at equal intervals over the 90 days. */
const MESSAGES_OF_EVENTS = `
  insert into bench_message
  select number, number % (select count(*)::int from bench_endpoint), job_event.id, '', ''
  from generate_series(1, $1::int) number
    join job on marking_number = 'MN' || lpad(ceil(number * $2::float8 / $1::int)::text, 9, '0')
    join job_event on job_event.job_id = job.id`;
