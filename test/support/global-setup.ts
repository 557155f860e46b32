/** Runs once per test run: starts a PostgreSQL with a migrated template database, and a MongoDB. */
import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { openEmbeddedMongo } from "../../src/dev/mongo/embedded-mongo.ts";
import { findMongodBinary } from "../../src/dev/mongo/binary.ts";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { isRunning } from "./processes/is-running.ts";
import { entities } from "../../src/app/entities.ts";
import { StartupError } from "../../src/core/errors.ts";
import { migrateDatabase } from "../../src/core/postgres/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a PostgreSQL database from which tests can create their own databases. */
    serverUrl: string;
    /** Name of a migrated database on that server. The names of the run's databases begin with it. */
    templateName: string;
    /** URL of the MongoDB server. Tests use separate databases in it (`createTestMongo`). */
    mongoUrl: string;
    /** Path of a `mongod`, for tests that start one. */
    mongodBinary: string;
  }
}

const FOLDER_PREFIX = "waymark-test-";
const OWNER_FILE = "owner.pid";
const DATABASE_PREFIX = "waymark_test_";
const MIN_FREE_BYTES = 2 * 1024 ** 3;

/**
 * Set TEST_DATABASE_URL to use another PostgreSQL server, of any supported version; its user must be able to create
 * databases. A `mongod` is found as for `npm start`, and downloaded once if there is none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using stack = new AsyncDisposableStack();
  try {
    const dataDir = await makeRunFolder(stack);
    // Before anything starts, because it can fail.
    const binary = await findMongod();
    const [serverUrl, mongoUrl] = await Promise.all([
      process.env["TEST_DATABASE_URL"] ?? startPostgres(dataDir, stack),
      startMongo(dataDir, binary, stack),
    ]);
    project.provide("serverUrl", serverUrl);
    project.provide("templateName", await makeTemplate(serverUrl, stack));
    project.provide("mongoUrl", mongoUrl);
    project.provide("mongodBinary", binary);
  } catch (error) {
    throw error instanceof StartupError ? inOneLine(error) : error;
  }
  const resources = stack.move();
  return () => resources.disposeAsync();
}

/** Makes the folder of the run, in which all tests make their temporary folders. Removes those of killed runs. */
async function makeRunFolder(stack: AsyncDisposableStack): Promise<string> {
  const parent = tmpdir();
  await removeAbandonedFolders(parent);
  const { bavail, bsize } = await statfs(parent);
  if (bavail * bsize < MIN_FREE_BYTES)
    throw new StartupError(
      `Only ${Math.floor((bavail * bsize) / 1024 ** 2)} MB are free in ${parent}; the tests need 2 GB.`,
      "Free some space, or set TMPDIR to a folder on another disk.",
    );
  const folder = await mkdtemp(join(parent, FOLDER_PREFIX));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, OWNER_FILE), String(process.pid));
  process.env["TMPDIR"] = join(folder, "tmp");
  stack.defer(() => void (process.env["TMPDIR"] = parent));
  await mkdir(process.env["TMPDIR"]);
  return folder;
}

/** Removes the folders of runs that were killed, and the servers and browsers that they left running. */
async function removeAbandonedFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const folder = join(parent, name);
    const owner = Number(await readFile(join(folder, OWNER_FILE), "utf8").catch(() => 0));
    if (owner === 0 || (await isRunning(owner))) continue;
    // Fails if there is no such process.
    await promisify(execFile)("pkill", ["-KILL", "-f", folder]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

async function startPostgres(dataDir: string, stack: AsyncDisposableStack): Promise<string> {
  const settings = [
    // Only test/faults tests durability, with separate servers.
    "fsync=off",
    "max_connections=200",
    // When it counts a small table depends on the load, and plans on that. Tests that need statistics run ANALYZE.
    "autovacuum=off",
    // Starting workers for a query over small partitions takes ten times as long as the query.
    "max_parallel_workers_per_gather=0",
  ];
  const postgresFlags = settings.flatMap((setting) => ["-c", setting]);
  return stack.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags })).url;
}

async function findMongod(): Promise<string> {
  const { mongo, cacheDir } = toConfig(readEnv());
  return await findMongodBinary({ ...mongo, cacheDir }, printStatus, new AbortController().signal);
}

async function startMongo(dataDir: string, binary: string, stack: AsyncDisposableStack): Promise<string> {
  const { cacheDir } = toConfig(readEnv());
  return await stack.use(openEmbeddedMongo({ dataDir, binary, cacheDir, download: "off" })).url;
}

/** For what the reader can fix: without a stack trace. */
function inOneLine({ message, hint }: StartupError): Error {
  const error = new Error(`${message} ${hint}`);
  error.stack = error.message;
  return error;
}

function printStatus(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Returns the name of a new migrated database. The run drops it at its end, with the databases made from it. */
async function makeTemplate(serverUrl: string, stack: AsyncDisposableStack): Promise<string> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  stack.defer(() => client.end());
  const run = randomInt(2 ** 31);
  const name = `${DATABASE_PREFIX}${run}`;
  stack.defer(() => dropDatabases(client, name));
  // Held until this process ends: it shows other runs on the same server that this one is alive.
  await client.query("select pg_advisory_lock($1, $2)", [LOCK_CLASS, run]);
  await dropAbandonedDatabases(client);
  await client.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrateDatabase({ url: url.href, poolSize: 2, entities });
  return name;
}

/** The first key of the advisory locks; the second is the number of a run. */
const LOCK_CLASS = 4_190;

/** Drops what killed runs left on a server that several runs use. */
async function dropAbandonedDatabases(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select datname as name from pg_database where datname ~ '^${DATABASE_PREFIX}\\d+$'`,
  );
  for (const { name } of rows) {
    const run = Number(name.slice(DATABASE_PREFIX.length));
    const lock = await client.query<{ free: boolean }>("select pg_try_advisory_lock($1, $2) as free", [
      LOCK_CLASS,
      run,
    ]);
    if (lock.rows[0]?.free) await dropDatabases(client, name);
  }
}

async function dropDatabases(client: pg.Client, prefix: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select datname as name from pg_database where datname = $1 or starts_with(datname, $1 || '_')",
    [prefix],
  );
  for (const { name } of rows) await client.query(`drop database if exists ${name} with (force)`);
}
