/** Creates a new database for a test file, migrated unless it is a copy of another one. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import type { Database } from "../../../src/core/postgres/database.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

export async function createTestDatabase(template = inject("templateName")) {
  const serverUrl = inject("serverUrl");
  const name = `${template}_${randomBytes(6).toString("hex")}`;
  await runOnServer(serverUrl, `create database ${name} template ${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => runOnServer(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

async function runOnServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Numbers of a statement that inserts rows, so that it stays far below the time limit of statements on a busy machine too. */
const PART = 4_000;

/** Runs the statement for the numbers from 1 to `count`, in parts. `insert` gets their `generate_series`. */
export async function insertMany(
  database: Pick<Database, "query">,
  count: number,
  insert: (numbers: Sql) => Sql,
): Promise<void> {
  for (let from = 1; from <= count; from += PART) {
    const to = Math.min(from + PART - 1, count);
    await database.query(insert(sql`generate_series(${from}::int, ${to}::int)`));
  }
}
