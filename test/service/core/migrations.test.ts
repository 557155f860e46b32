/** Migrations of a database in use, and of a later version. */
import { Migration } from "@mikro-orm/migrations";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";

const NEXT = "20991231000000-next-note";

/** A migration that needs an exclusive lock on a table. */
class NextNote extends Migration {
  override name = NEXT;

  override up(): void {
    this.addSql("alter table job_event add column next_note text;");
  }
}

async function openDatabase(): Promise<string> {
  const { url, ...database } = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return url;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it("retries a migration while its table is in use, without blocking other statements for long", async () => {
  const url = await openDatabase();
  const [reader, other] = [await connect(url), await connect(url)];
  await reader.query("begin");
  await reader.query("select from job_event limit 1");

  const onLockWait = vi.fn<(message: string) => void>();
  const applied = migrateDatabase({ url, poolSize: 2, entities }, { onLockWait, migrationsList: [NextNote] });
  await eventually(async () => {
    const { rowCount } = await other.query(
      "select from pg_locks where relation = 'job_event'::regclass and not granted",
    );
    expect(rowCount).toBe(1);
  });
  // The reader's transaction is still open. This statement waits behind the migration until its lock timeout.
  await other.query("select from job_event limit 1");
  await eventually(() => expect(onLockWait).toHaveBeenCalledOnce());
  await reader.query("commit");
  expect(await applied).toEqual([NEXT]);
  await other.query("select next_note from job_event limit 1");
});

it("accepts a database that a later version has migrated", async () => {
  const url = await openDatabase();
  const client = await connect(url);
  await client.query("insert into mikro_orm_migrations (name) values ($1)", [NEXT]);
  expect(await migrateDatabase({ url, poolSize: 2, entities })).toEqual([]);
});
