/** The benchmark's PostgreSQL: an embedded server in its own folder, durable as in production, seeded once and reused. */
import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import pg from "pg";
import { openEmbeddedPostgres } from "../src/dev/postgres/embedded-postgres.ts";
import { entities } from "../src/app/entities.ts";
import { migrateDatabase } from "../src/core/postgres/migrate.ts";
import { issueKeys, rebuildJobCounters, seed, type BenchOrganization } from "./seed.ts";

export interface BenchDatabase extends AsyncDisposable {
  url: string;
  client: pg.Client;
  organizations: BenchOrganization[];
  /** The time of seeding. Requests with date ranges draw their dates from the days before it. */
  seededAt: Date;
  postmasterPid: number | null;
}

export interface BenchDatabaseOptions {
  folder: string;
  jobs: number;
  fresh: boolean;
  /** Additional arguments for `postgres`. */
  flags?: readonly string[];
  onProgress: (text: string) => void;
}

/** Settings for a million jobs, and the statistics that the benchmark reads. Durability keeps its defaults. */
const POSTGRES_SETTINGS = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  shared_preload_libraries: "pg_stat_statements,auto_explain",
  "pg_stat_statements.track": "none",
};
export const postgresFlags = Object.entries(POSTGRES_SETTINGS).flatMap(([name, value]) => [
  "-c",
  `${name}=${value}`,
]);

/**
 * Opens the benchmark's database and seeds it if needed. BENCH_DATABASE_URL names another database instead: its jobs are
 * replaced, and PostgreSQL's CPU time is not measured.
 */
export async function openBenchDatabase(options: BenchDatabaseOptions): Promise<BenchDatabase> {
  const { folder, fresh, flags = [], onProgress } = options;
  const externalUrl = process.env["BENCH_DATABASE_URL"];
  if (fresh && !externalUrl) await rm(folder, { recursive: true, force: true });
  const server = externalUrl
    ? null
    : await openEmbeddedPostgres({
        dataDir: folder,
        exclusive: true,
        postgresFlags: [...postgresFlags, ...flags],
        onProgress,
      });
  const url = server?.url ?? String(externalUrl);
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  await prepareSchema(client, url, options);
  const { rows } = await client.query<{ at: Date }>("select at from bench_seed");
  return {
    url,
    client,
    organizations: await issueKeys(client),
    seededAt: (rows[0] as { at: Date }).at,
    postmasterPid: server ? await readPostmasterPid(folder) : null,
    async [Symbol.asyncDispose]() {
      await client.end();
      await server?.[Symbol.asyncDispose]();
    },
  };
}

async function prepareSchema(
  client: pg.Client,
  url: string,
  { jobs, fresh, onProgress }: BenchDatabaseOptions,
): Promise<void> {
  const expectedFingerprint = `${await fingerprintFolders(["../src/migrations", "."])} ${jobs}`;
  await client.query(
    "create table if not exists bench_seed (fingerprint text not null, at timestamptz not null)",
  );
  const { rows } = await client.query<{ fingerprint: string }>("select fingerprint from bench_seed");
  if (rows[0]?.fingerprint === expectedFingerprint && !fresh) {
    // Undo the effects of the previous run: dead rows, and counters that the transaction loop does not maintain.
    await refresh(client);
    return;
  }

  await client.query("drop schema public cascade");
  await client.query("create schema public");
  await migrateDatabase({ url, poolSize: 2, entities });
  await seed(client, jobs, onProgress);
  await refresh(client);
  onProgress("counters");
  await client.query("checkpoint");
  await client.query("create table bench_seed as select $1::text as fingerprint, now() as at", [
    expectedFingerprint,
  ]);
}

async function refresh(client: pg.Client): Promise<void> {
  await rebuildJobCounters(client);
  await client.query("vacuum analyze");
}

/** Hashes the migrations and the seed. If the hash differs from the folder's, the database is seeded again. */
async function fingerprintFolders(folders: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of folders.map((name) => resolve(import.meta.dirname, name))) {
    const names = (await readdir(folder)).filter(
      (name) => folder.endsWith("migrations") || name === "seed.ts",
    );
    for (const name of names.toSorted()) hash.update(await readFile(join(folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Returns the process id of the embedded server in `folder`. */
export async function readPostmasterPid(folder: string): Promise<number> {
  const text = await readFile(join(folder, "postgres", "postmaster.pid"), "utf8");
  return Number(text.split("\n", 1)[0]);
}
