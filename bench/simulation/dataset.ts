/** The data of the simulation's measurements: 1,000 organisations of uneven size with jobs, later with an endpoint each. */
import pg from "pg";
import { entities } from "../../src/app/entities.ts";
import { migrateDatabase } from "../../src/core/postgres/migrate.ts";
import {
  insertEndpoints,
  BENCH_TABLES,
  openDeliveryDataset,
  type DeliveryDataset,
} from "../deliveries/dataset.ts";
import { recreateDatabase } from "../temporary-database.ts";
import { raiseRateLimits } from "../rate-limits.ts";
import { issueKeys, rebuildJobCounters, seed, type BenchOrganization } from "../seed.ts";
import type { RowBytes } from "./costs.ts";

export interface SimulationDataset extends AsyncDisposable {
  url: string;
  client: pg.Client;
  organizations: BenchOrganization[];
  seededAt: Date;
  statements: DeliveryDataset["takeStatementCount"];
  /** Adds an endpoint for each organisation and returns their secrets. */
  addEndpoints(sinkUrl: string): Promise<string[]>;
  /** Changes the URLs of all endpoints; each ends with the endpoint's number. */
  redirectEndpoints(url: string): Promise<void>;
}

const ORGANIZATION_COUNTS = { agents: 500, contractors: 500 };
const DATABASE_NAME = "simulation";

export async function openSimulationDataset(
  serverUrl: string,
  jobs: number,
  onProgress: (text: string) => void,
): Promise<SimulationDataset> {
  await using stack = new AsyncDisposableStack();
  await recreateDatabase(serverUrl, DATABASE_NAME);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${DATABASE_NAME}` }).href;
  await migrateDatabase({ url, poolSize: 2, entities });
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  stack.defer(() => client.end());
  await client.query("set pg_stat_statements.track = 'none'");
  // A checkpoint during a measurement would cause full-page writes.
  await client.query("alter system set checkpoint_timeout = '1h'");
  await client.query("select pg_reload_conf()");
  await client.query("create extension pg_stat_statements");
  await seed(client, jobs, onProgress, ORGANIZATION_COUNTS);
  await rebuildJobCounters(client);
  await client.query(BENCH_TABLES);
  await client.query("vacuum analyze");
  const organizations = await issueKeys(client);
  await raiseRateLimits(client);
  const resources = stack.move();
  return {
    url,
    client,
    organizations,
    seededAt: new Date(),
    statements: () => openDeliveryDataset(url, client, []).takeStatementCount(),
    addEndpoints: (sinkUrl) =>
      insertEndpoints(
        client,
        sinkUrl,
        organizations.map(({ id }) => id),
        organizations.length,
      ),
    async redirectEndpoints(target) {
      await client.query(
        `update webhook_endpoint set url = $1::text || '/' || n, version = version + 1
         from bench_endpoint where bench_endpoint.id = webhook_endpoint.id`,
        [target],
      );
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
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

/** Counts connections to this database by application name, without those of the benchmark. */
export async function countConnections(client: pg.Client): Promise<Map<string, number>> {
  const { rows } = await client.query<{ name: string; count: number }>(
    `select application_name as name, count(*)::int as count from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and application_name not in ('bench', '')
     group by 1 order by 1`,
  );
  return new Map(rows.map(({ name, count }) => [name, count]));
}
