/** The database of one size, seeded once and kept, with who asks and what for. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { makeDatabase } from "../made-database.ts";
import { issueKeys, type BenchOrganization } from "../seed.ts";
import { LARGE, seedGrowth } from "./seed.ts";

export interface GrowthWorld extends AsyncDisposable {
  url: string;
  client: pg.Client;
  jobs: number;
  /** Those of the usual size. */
  partners: BenchOrganization[];
  /** That with a tenth of everything. */
  large: BenchOrganization;
  seededAt: Date;
  /** What PostgreSQL did for others than us since the last call. */
  counted(): Promise<Counted>;
}

export interface Counted {
  /** Pages of 8 KiB found in PostgreSQL's own memory, and those that it had to ask the system for. */
  hit: number;
  read: number;
  walBytes: number;
}

export interface GrowthWorldOptions {
  serverUrl: string;
  jobs: number;
  fresh: boolean;
  onProgress: (text: string) => void;
}

export async function openGrowthWorld(options: GrowthWorldOptions): Promise<GrowthWorld> {
  const { serverUrl, jobs } = options;
  const name = `growth_${jobs}`;
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const wanted = await fingerprint();
  const isThere = !options.fresh && (await fingerprintOf(url)) === wanted;
  if (!isThere) await makeDatabase(serverUrl, name);
  await using opened = new AsyncDisposableStack();
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  opened.defer(() => client.end());
  await client.query("set pg_stat_statements.track = 'none'");
  if (!isThere) {
    await seedGrowth({ ...options, url, client });
    await client.query("create extension pg_stat_statements");
    await client.query("create table bench_seed as select $1::text as fingerprint, now() as at", [wanted]);
  }
  // What the run before has left.
  await client.query("vacuum analyze");
  const world = await worldOf(url, client, jobs);
  const held = opened.move();
  return { ...world, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

async function worldOf(
  url: string,
  client: pg.Client,
  jobs: number,
): Promise<Omit<GrowthWorld, typeof Symbol.asyncDispose>> {
  const organizations = await issueKeys(client);
  const { rows } = await client.query<{ id: string; at: Date }>(
    "select id, at from organization, bench_seed where name = $1",
    [LARGE],
  );
  const [{ id, at }] = rows as [{ id: string; at: Date }];
  return {
    url,
    client,
    jobs,
    partners: organizations.filter((one) => one.id !== id && one.jobs > 0),
    large: organizations.find((one) => one.id === id) as BenchOrganization,
    seededAt: at,
    async counted() {
      const { rows: found } = await client.query<Counted>(
        `select coalesce(sum(shared_blks_hit), 0)::float8 as hit, coalesce(sum(shared_blks_read), 0)::float8 as read,
           coalesce(sum(wal_bytes), 0)::float8 as "walBytes"
         from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`,
      );
      await client.query("select pg_stat_statements_reset()");
      return found[0] as Counted;
    },
  };
}

/** Null where there is no such database, or its seed was broken off. */
async function fingerprintOf(url: string): Promise<string | null> {
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
async function fingerprint(): Promise<string> {
  const migrations = join(import.meta.dirname, "../../src/migrations");
  const files = (await readdir(migrations)).toSorted().map((name) => join(migrations, name));
  const hash = createHash("sha256");
  const seeds = ["seed.ts", "../seed.ts"].map((name) => join(import.meta.dirname, name));
  for (const file of [...files, ...seeds]) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 16);
}
