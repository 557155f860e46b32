/** The benchmark's PostgreSQL, durable as in production, with a database for each data set. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { entities } from "../src/app/entities.ts";
import { migrateDatabase } from "../src/core/postgres/migrate.ts";
import { openEmbeddedPostgres } from "../src/dev/postgres/embedded-postgres.ts";
import { dataFolder, onProgress } from "./environment.ts";
import { processTreeCpuUs } from "./process-usage.ts";

export interface BenchPostgres extends AsyncDisposable {
  url: string;
  pid: number;
  /** Returns the CPU microseconds of all its processes since it started. */
  cpuUs(): number;
}

/** Settings for a million jobs, and the statistics that the benchmark reads. Durability keeps its defaults. */
const POSTGRES_SETTINGS = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  shared_preload_libraries: "pg_stat_statements,auto_explain",
  "pg_stat_statements.track": "none",
};

/** Starts the server in the data folder. */
export async function openPostgres(settings: Record<string, string> = {}): Promise<BenchPostgres> {
  await mkdir(dataFolder, { recursive: true });
  const server = await openEmbeddedPostgres({
    dataDir: dataFolder,
    exclusive: true,
    postgresFlags: Object.entries({ ...POSTGRES_SETTINGS, ...settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]),
    onProgress,
  });
  const text = await readFile(join(dataFolder, "postgres", "postmaster.pid"), "utf8");
  const pid = Number(text.split("\n", 1)[0]);
  return {
    url: server.url,
    pid,
    cpuUs: () => processTreeCpuUs(pid),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export interface BenchDatabase extends AsyncDisposable {
  url: string;
  /** Its statements are not counted by `countStatements`. */
  client: pg.Client;
  /** Requests with date ranges draw their dates from the days before it. */
  seededAt: Date;
}

interface DatabaseOptions {
  name: string;
  /** Fills the migrated database. */
  fill: (client: pg.Client) => Promise<void>;
  /** A database of an earlier run is used again if the migrations and the seeds are the same. */
  isReused: boolean;
}

export async function openDatabase(
  server: BenchPostgres,
  { name, fill, isReused }: DatabaseOptions,
): Promise<BenchDatabase> {
  const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  const fingerprint = await computeFingerprint();
  const isSeeded = isReused && (await readFingerprint(url)) === fingerprint;
  if (!isSeeded) {
    await recreateDatabase(server.url, name);
    await migrateDatabase({ url, poolSize: 2, entities });
  }
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  await client.query("set pg_stat_statements.track = 'none'");
  if (!isSeeded) {
    await fill(client);
    await client.query("create table bench_seed as select $1::text as fingerprint, now() as at", [
      fingerprint,
    ]);
    await client.query("checkpoint");
  }
  // Also removes the dead rows of an earlier run.
  await client.query("vacuum analyze");
  const { rows } = await client.query<{ at: Date }>("select at from bench_seed");
  const [{ at: seededAt }] = rows as [{ at: Date }];
  return { url, client, seededAt, [Symbol.asyncDispose]: () => client.end() };
}

async function recreateDatabase(serverUrl: string, name: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.query(`create database ${name}`);
  await admin.end();
}

/** Returns null if the database does not exist or its seed did not finish. */
async function readFingerprint(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ fingerprint: string }>("select fingerprint from bench_seed");
    return rows[0]?.fingerprint ?? null;
  } catch {
    return null;
  } finally {
    await client.end();
  }
}

const SEEDS = ["seed.ts", "growth/dataset.ts", "deliveries/dataset.ts"];

/** Hashes the migrations and the seeds. */
async function computeFingerprint(): Promise<string> {
  const migrations = join(import.meta.dirname, "../src/migrations");
  const files = (await readdir(migrations)).toSorted().map((name) => join(migrations, name));
  const hash = createHash("sha256");
  for (const file of [...files, ...SEEDS.map((name) => join(import.meta.dirname, name))])
    hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}

/** Counts of all statements of a database, except those of the benchmark's own client. */
export interface StatementCounts {
  calls: number;
  /** Pages of 8 KiB found in shared buffers (`hit`) and requested from the operating system (`read`). */
  hit: number;
  read: number;
  walBytes: number;
}

/** Counts the statements of connections that open from now on. The result returns the counts since its last call. */
export async function countStatements(client: pg.Client): Promise<() => Promise<StatementCounts>> {
  await client.query("create extension if not exists pg_stat_statements");
  await client.query(`alter database ${client.database} set pg_stat_statements.track = 'top'`);
  return async () => {
    const { rows } = await client.query<StatementCounts>(
      `select coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(shared_blks_hit), 0)::float8 as hit,
         coalesce(sum(shared_blks_read), 0)::float8 as read, coalesce(sum(wal_bytes), 0)::float8 as "walBytes"
       from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`,
    );
    await client.query("select pg_stat_statements_reset()");
    return rows[0] as StatementCounts;
  };
}
