/** A schema that is changed while it is in use. */
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../src/entities.ts";
import { migrateDatabase } from "../../src/platform/migrate.ts";
import { createTestDatabase } from "../support/test-database.ts";

const LAST = "20261122100100-event-traces";

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it("a migration waits for who uses its table for long, and nobody waits long behind it", async () => {
  const { url, ...database } = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const [reader, other] = [await connect(url), await connect(url)];
  await other.query("delete from mikro_orm_migrations where name = $1", [LAST]);
  await other.query("alter table job_event drop column trace_parent");
  await reader.query("begin");
  await reader.query("select from job_event limit 1");

  const onWait = vi.fn<(sentence: string) => void>();
  const applied = migrateDatabase({ url, poolSize: 2, entities }, { onWait });
  await vi.waitFor(async () => {
    const { rowCount } = await other.query(
      "select from pg_locks where relation = 'job_event'::regclass and not granted",
    );
    expect(rowCount).toBe(1);
  }, 20_000);
  // While the reader goes on: it would wait for its end, too.
  await other.query("select from job_event limit 1");
  await vi.waitFor(() => expect(onWait).toHaveBeenCalledOnce(), 20_000);
  await reader.query("commit");
  expect(await applied).toEqual([LAST]);
  await other.query("select trace_parent from job_event limit 1");
});
