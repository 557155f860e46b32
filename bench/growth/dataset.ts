/** The database of one size, seeded once and kept, with who asks and what for. */
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
  /** Those of the usual size. */
  regularOrganizations: BenchOrganization[];
  /** That with a tenth of everything. */
  largeOrganization: BenchOrganization;
  seededAt: Date;
  /** What PostgreSQL did for others than us since the last call. */
  takeIoCounts(): Promise<IoCounts>;
}

export interface IoCounts {
  /** Pages of 8 KiB found in PostgreSQL's own memory, and those that it had to ask the system for. */
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
  // What the run before has left.
  await client.query("vacuum analyze");
  const world = await loadDataset(url, client, jobs);
  const resources = opened.move();
  return { ...world, [Symbol.asyncDispose]: () => resources.disposeAsync() };
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

/** Null where there is no such database, or its seed was broken off. */
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

/** What it is made from. */
async function computeFingerprint(): Promise<string> {
  const migrations = join(import.meta.dirname, "../../src/migrations");
  const files = (await readdir(migrations)).toSorted().map((name) => join(migrations, name));
  const hash = createHash("sha256");
  const seeds = ["seed.ts", "../seed.ts"].map((name) => join(import.meta.dirname, name));
  for (const file of [...files, ...seeds]) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}
