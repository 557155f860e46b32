/** The data of the cost measurements: 1,000 organisations of uneven size with jobs, later with an endpoint each. */
import type pg from "pg";
import { openDatabase, type BenchPostgres } from "../database.ts";
import { BENCH_TABLES } from "../deliveries/dataset.ts";
import { issueKeys, seed, zipfShares, type JobsDatabase } from "../seed.ts";
import type { RowBytes } from "./costs.ts";

/** Enforced, but too high to be reached. */
const HIGH_LIMIT = { perSecond: 1_000, burst: 1_000 };

export async function openCapacityDataset(server: BenchPostgres, jobs: number): Promise<JobsDatabase> {
  const database = await openDatabase(server, {
    name: "capacity",
    isReused: false,
    async fill(client) {
      await seed(client, jobs, { agents: zipfShares(500), contractors: zipfShares(500) });
      await client.query(BENCH_TABLES);
    },
  });
  const organizations = await issueKeys(database.client);
  const limits = { read: HIGH_LIMIT, write: HIGH_LIMIT, batch: HIGH_LIMIT };
  await database.client.query("update api_key set rate_limits = $1", [JSON.stringify(limits)]);
  return { ...database, organizations };
}

/** Row counts of the tables that changes write to. */
export interface WrittenCounts {
  events: number;
  deliveries: number;
  attempts: number;
}

export async function countWritten(client: pg.Client): Promise<WrittenCounts> {
  const { rows } = await client.query<WrittenCounts>(
    `select (select count(*)::int from job_event) as events, (select count(*)::int from webhook_delivery) as deliveries,
       (select count(*)::int from webhook_attempt) as attempts`,
  );
  return rows[0] as WrittenCounts;
}

/** Counts pending deliveries. It reads only the queue's partition, because its CPU time counts as PostgreSQL's. */
export async function countPending(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pending: number }>(
    "select count(*)::int as pending from webhook_delivery where status = 'pending'",
  );
  return rows[0]?.pending ?? 0;
}

/** Sizes a delivery by the finished partition: pending rows are few, and their space is reused. */
export async function readRowBytes(client: pg.Client): Promise<RowBytes> {
  const { rows } = await client.query<RowBytes>(
    `select pg_total_relation_size('job') / (select greatest(count(*), 1) from job)::float8 as job,
       pg_total_relation_size('job_event') / (select greatest(count(*), 1) from job_event)::float8 as event,
       (${sizeOf("webhook_delivery_finished")}) / (select greatest(count(*), 1) from webhook_delivery)::float8 as delivery,
       (${sizeOf("webhook_attempt")}) / (select greatest(count(*), 1) from webhook_attempt)::float8 as attempt`,
  );
  return rows[0] as RowBytes;
}

/** Includes all partitions. */
const sizeOf = (table: string): string =>
  `select coalesce(sum(pg_total_relation_size(relid)), 0) from pg_partition_tree('${table}')`;
