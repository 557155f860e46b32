/** Once a test run: a real PostgreSQL of its own, and in it a migrated database that each test file copies. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { openEmbeddedPostgres, type EmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { entities } from "../../src/entities.ts";
import { migrateDatabase } from "../../src/platform/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server's address with a database that tests may connect to in order to make their own. */
    serverUrl: string;
  }
}

const TEMPLATE = "waymark_template";

/** TEST_DATABASE_URL names a server of one's own (any supported PostgreSQL); its user must be able to create databases. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const own = process.env["TEST_DATABASE_URL"];
  const dataDir = own ? null : await mkdtemp(join(tmpdir(), "waymark-test-"));
  // Durability is not what these tests look at; those that do (test/faults) start a server of their own.
  const flags = ["-c", "fsync=off", "-c", "max_connections=200"];
  const server: EmbeddedPostgres | null = dataDir
    ? await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags: flags })
    : null;
  const serverUrl = own ?? (server as EmbeddedPostgres).url;
  await makeTemplate(serverUrl);
  project.provide("serverUrl", serverUrl);
  return async () => {
    await server?.[Symbol.asyncDispose]();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  };
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
