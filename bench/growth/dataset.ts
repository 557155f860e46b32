/** The database of one size, seeded once and reused, with its organisations and their API keys. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { recreateDatabase } from "../temporary-database.ts";
import { issueKeys, type BenchOrganization } from "../seed.ts";
import { LARGE_ORGANIZATION, seedGrowth } from "./seed.ts";

export interface GrowthDataset extends AsyncDisposable {
  url: string;
  client: pg.Client;
  jobs: number;
  /** The organisations with 5,000 jobs each. */
  regularOrganizations: BenchOrganization[];
  /** The organisation with a tenth of all jobs. */
  largeOrganization: BenchOrganization;
  seededAt: Date;
  /** Returns PostgreSQL's counts since the last call, without those of the benchmark itself. */
  takeIoCounts(): Promise<IoCounts>;
}

export interface IoCounts {
  /** Pages of 8 KiB found in shared buffers (`hit`) and requested from the operating system (`read`). */
  hit: number;
  read: number;
  walBytes: number;
}

export interface GrowthDatasetOptions {
  serverUrl: string;
  jobs: number;
  fresh: boolean;
  onProgress: (text: string) => void;
}

export async function openGrowthDataset(options: GrowthDatasetOptions): Promise<GrowthDataset> {
  const { serverUrl, jobs } = options;
  const name = `growth_${jobs}`;
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const expectedFingerprint = await computeFingerprint();
  const isSeeded = !options.fresh && (await readFingerprint(url)) === expectedFingerprint;
  if (!isSeeded) await recreateDatabase(serverUrl, name);
  await using opened = new AsyncDisposableStack();
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  opened.defer(() => client.end());
  await client.query("set pg_stat_statements.track = 'none'");
  if (!isSeeded) {
    await seedGrowth({ ...options, url, client });
    await client.query("create extension pg_stat_statements");
    await client.query("create table bench_seed as select $1::text as fingerprint, now() as at", [
      expectedFingerprint,
    ]);
  }
  // Remove the dead rows of the previous run.
  await client.query("vacuum analyze");
  const dataset = await loadDataset(url, client, jobs);
  const resources = opened.move();
  return { ...dataset, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function loadDataset(
  url: string,
  client: pg.Client,
  jobs: number,
): Promise<Omit<GrowthDataset, typeof Symbol.asyncDispose>> {
  const organizations = await issueKeys(client);
  const { rows } = await client.query<{ id: string; at: Date }>(
    "select id, at from organization, bench_seed where name = $1",
    [LARGE_ORGANIZATION],
  );
  const [{ id, at }] = rows as [{ id: string; at: Date }];
  return {
    url,
    client,
    jobs,
    regularOrganizations: organizations.filter((one) => one.id !== id && one.jobs > 0),
    largeOrganization: organizations.find((one) => one.id === id) as BenchOrganization,
    seededAt: at,
    async takeIoCounts() {
      const { rows: found } = await client.query<IoCounts>(
        `select coalesce(sum(shared_blks_hit), 0)::float8 as hit, coalesce(sum(shared_blks_read), 0)::float8 as read,
           coalesce(sum(wal_bytes), 0)::float8 as "walBytes"
         from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`,
      );
      await client.query("select pg_stat_statements_reset()");
      return found[0] as IoCounts;
    },
  };
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

/** Hashes the migrations and the seed. */
async function computeFingerprint(): Promise<string> {
  const migrations = join(import.meta.dirname, "../../src/migrations");
  const files = (await readdir(migrations)).toSorted().map((name) => join(migrations, name));
  const hash = createHash("sha256");
  const seeds = ["seed.ts", "../seed.ts"].map((name) => join(import.meta.dirname, name));
  for (const file of [...files, ...seeds]) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}
