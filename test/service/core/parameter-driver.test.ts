import { afterAll, beforeAll, expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

const STATEMENT = `select query, ? as text, ?::bytea as bytes, ? in (?) as is_listed, ?::int as number
  from pg_stat_activity where pid = pg_backend_pid()`;
const TERMINATE = "select pg_terminate_backend(pg_backend_pid())";
const SECRET = "a secret's \\text?";
const VALUES = [SECRET, Buffer.from(SECRET), SECRET, ["other", SECRET], 7];

// evidence: orm-values-are-parameters
it.each<[string, () => Promise<object[]>]>([
  ["outside a transaction", () => database.em().execute(STATEMENT, VALUES)],
  ["in a transaction", () => database.transactional((em) => em.execute(STATEMENT, VALUES))],
  ["with a signal", () => database.withSignal(new AbortController().signal).em().execute(STATEMENT, VALUES)],
])("an entity manager %s sends texts and bytes as parameters, not in the statement", async (_where, run) => {
  const [row] = await run();
  const query = expect.not.stringContaining("secret") as unknown;
  expect(row).toEqual({ query, text: SECRET, bytes: Buffer.from(SECRET), is_listed: true, number: 7 });
});

const DUPLICATE =
  "insert into organization (id, name, type) select ?::uuid, ?, 'agent' from generate_series(1, 2)";

// evidence: orm-errors-without-values
it("an error of an entity manager does not quote values", async () => {
  const error = await database
    .em()
    .execute(DUPLICATE, ["018f0000-0000-7000-8000-00000000abcd", SECRET])
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "23505" });
  expect(JSON.stringify([String(error), (error as Error).stack, error])).not.toContain("00000000abcd");
});

it.each<[string, (on: Database) => Promise<object[]>]>([
  ["outside a transaction", (on) => on.em().execute(TERMINATE)],
  ["in a transaction", (on) => on.transactional((em) => em.execute(TERMINATE))],
])("an entity manager %s throws a 503 if the connection is lost", async (_where, run) => {
  // The pool may give the lost connection to the next test.
  await using other = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  await expect(run(other)).rejects.toMatchObject({ name: "AppError", code: "ServiceUnavailableException" });
});
