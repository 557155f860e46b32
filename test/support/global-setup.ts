/** Once a test run: a real PostgreSQL with a migrated database that each test file copies, and a real MongoDB. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { openEmbeddedMongo } from "../../src/embedded/mongo/embedded-mongo.ts";
import { findMongodBinary } from "../../src/embedded/mongo/binary.ts";
import { openEmbeddedPostgres } from "../../src/embedded/postgres/embedded-postgres.ts";
import { entities } from "../../src/app/entities.ts";
import { migrateDatabase } from "../../src/platform/postgres/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server's address with a database that tests may connect to in order to make their own. */
    serverUrl: string;
    /** The MongoDB, a replica set; tests name a database of their own in it (`createTestMongo`). */
    mongoUrl: string;
    /** A `mongod`, for those who start one. */
    mongodBinary: string;
  }
}

const TEMPLATE = "waymark_template";

/**
 * TEST_DATABASE_URL names a server of one's own (any supported PostgreSQL); its user must be able to create databases.
 * A `mongod` is found as for `npm start`, and downloaded once where there is none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const own = process.env["TEST_DATABASE_URL"];
  const dataDir = await mkdtemp(join(tmpdir(), "waymark-test-"));
  const opened = new AsyncDisposableStack();
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const [serverUrl, mongo] = await Promise.all([
    own ?? startPostgres(dataDir, opened),
    startMongo(dataDir, opened),
  ]);
  await makeTemplate(serverUrl);
  project.provide("serverUrl", serverUrl);
  project.provide("mongoUrl", mongo.url);
  project.provide("mongodBinary", mongo.binary);
  return () => opened.disposeAsync();
}

async function startPostgres(dataDir: string, opened: AsyncDisposableStack): Promise<string> {
  // Durability is not what these tests look at; those that do (test/faults) start a server of their own.
  const postgresFlags = ["-c", "fsync=off", "-c", "max_connections=200"];
  return opened.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags })).url;
}

async function startMongo(
  dataDir: string,
  opened: AsyncDisposableStack,
): Promise<{ url: string; binary: string }> {
  const { mongo, cacheDir } = toConfig(readEnv());
  const binary = await findMongodBinary({ ...mongo, cacheDir }, say, new AbortController().signal);
  const embedded = opened.use(openEmbeddedMongo({ dataDir, binary, cacheDir, download: false }));
  return { url: await embedded.url, binary };
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  await client.query(`drop database if exists ${TEMPLATE} with (force)`);
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${TEMPLATE}`;
  await migrateDatabase({ url: url.href, poolSize: 2, entities });
}
