/** Runs once per test run: starts a PostgreSQL with a migrated template database, and a MongoDB. */
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
    /** URL of a PostgreSQL database from which tests can create their own databases. */
    serverUrl: string;
    /** URL of the MongoDB replica set. Tests use separate databases in it (`createTestMongo`). */
    mongoUrl: string;
    /** Path of a `mongod`, for tests that start one. */
    mongodBinary: string;
  }
}

const TEMPLATE = "waymark_template";

/**
 * Set TEST_DATABASE_URL to use another PostgreSQL server, of any supported version; its user must be able to create
 * databases. A `mongod` is found as for `npm start`, and downloaded once if there is none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const externalUrl = process.env["TEST_DATABASE_URL"];
  const dataDir = await mkdtemp(join(tmpdir(), "waymark-test-"));
  const stack = new AsyncDisposableStack();
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const [serverUrl, mongo] = await Promise.all([
    externalUrl ?? startPostgres(dataDir, stack),
    startMongo(dataDir, stack),
  ]);
  await makeTemplate(serverUrl);
  project.provide("serverUrl", serverUrl);
  project.provide("mongoUrl", mongo.url);
  project.provide("mongodBinary", mongo.binary);
  return () => stack.disposeAsync();
}

async function startPostgres(dataDir: string, stack: AsyncDisposableStack): Promise<string> {
  // Only test/faults tests durability, with separate servers.
  const postgresFlags = ["-c", "fsync=off", "-c", "max_connections=200"];
  return stack.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags })).url;
}

async function startMongo(
  dataDir: string,
  stack: AsyncDisposableStack,
): Promise<{ url: string; binary: string }> {
  const { mongo, cacheDir } = toConfig(readEnv());
  const binary = await findMongodBinary({ ...mongo, cacheDir }, printStatus, new AbortController().signal);
  const embedded = stack.use(openEmbeddedMongo({ dataDir, binary, cacheDir, download: "off" }));
  return { url: await embedded.url, binary };
}

function printStatus(message: string): void {
  process.stderr.write(`${message}\n`);
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
