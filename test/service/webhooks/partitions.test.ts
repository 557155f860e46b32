import { afterAll, describe, expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { minUuidAt, newUuid } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import {
  dropExpiredPartitions,
  ensurePartitions,
} from "../../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { DAY_MS } from "../../support/fake-clock.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const WEEK_MS = 7 * DAY_MS;
const DAYS = 30;

const testDatabase = await createTestDatabase();
const database = await openDatabase({ url: testDatabase.url, poolSize: 6, entities });

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

/** The partitions of a table in order. */
async function weeksOf(parent: string): Promise<string[]> {
  const rows = await database.query<{ name: string }>(sql`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = ${parent}::regclass order by 1`);
  return rows.map(({ name }) => name.slice(parent.length + 1));
}

async function finish(id: string): Promise<void> {
  await database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
    values (${id}, ${newUuid()}, ${newUuid()}, 'job.updated', 'delivered')`);
  await database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
    values (${newUuid()}, ${id}, 1, now(), 1, 'delivered', '{}')`);
}

async function countOf(table: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(raw(`select count(*)::int as count from ${table}`));
  return row?.count ?? 0;
}

// In this order: creating the weeks for each test would take half a second.
describe("the weekly partitions", { shuffle: false }, () => {
  it("ensurePartitions creates the weeks from the oldest retained one to four ahead, once for concurrent calls", async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => ensurePartitions(database, NOW, DAYS)));
    // A call that starts after another has committed finds nothing missing.
    expect(made.map(({ length }) => length)).toContain(20);
    expect(made.filter(({ length }) => length !== 20 && length !== 0)).toEqual([]);
    const weeks = Array.from({ length: 10 }, (_, at) => `2026w${42 + at}`);
    expect(await weeksOf("webhook_delivery_finished")).toEqual(weeks);
    expect(await weeksOf("webhook_attempt")).toEqual(weeks);
    expect(await ensurePartitions(database, NOW, DAYS)).toEqual([]);
  });

  it("cover deliveries that were pending for 30 days and those of the coming weeks", async () => {
    await finish(newUuid(NOW - 30 * DAY_MS));
    await finish(newUuid(NOW + 4 * WEEK_MS));
    const [row] = await database.query<{ name: string }>(sql`
      select tableoid::regclass::text as name from webhook_delivery where id < ${minUuidAt(new Date(NOW))}::uuid`);
    expect(row?.name).toBe("webhook_delivery_finished_2026w43");
  });

  it("are numbered by ISO 8601 across the end of a year with 53 weeks", async () => {
    expect(await ensurePartitions(database, NOW + 3 * WEEK_MS, DAYS)).toEqual(
      ["webhook_delivery_finished", "webhook_attempt"].flatMap((parent) =>
        ["2026w52", "2026w53", "2027w01"].map((week) => `${parent}_${week}`),
      ),
    );
    await finish(newUuid(Date.parse("2027-01-03T23:59:59.999Z")));
    expect(await countOf("webhook_delivery_finished_2026w53")).toBe(1);
  });

  it("go further back with a longer retention", async () => {
    const made = await ensurePartitions(database, NOW, 60);
    expect(made).toContain("webhook_attempt_2026w38");
    expect(made).not.toContain("webhook_attempt_2026w37");
  });

  it("are created without blocking readers or writers", async () => {
    await database.transaction(async (tx) => {
      await tx.query(sql`select count(*) from webhook_delivery`);
      await tx.query(
        sql`insert into webhook_delivery (id, endpoint_id, event_id, event_type) values (${newUuid()}, ${newUuid()}, ${newUuid()}, 'x')`,
      );
      expect(await ensurePartitions(database, NOW + 4 * WEEK_MS, DAYS)).toHaveLength(2);
    }, "rollback");
  });

  it("dropExpiredPartitions drops weeks that ended longer ago than the retention and a week", async () => {
    await finish(newUuid(Date.parse("2026-09-15T00:00:00Z")));
    const kept = await countOf("webhook_attempt");
    const dropped = await dropExpiredPartitions(database, NOW, 60);
    expect(dropped).toEqual([]);
    const names = await dropExpiredPartitions(database, NOW, DAYS);
    expect(names).toHaveLength(8);
    expect(names).toContain("webhook_delivery_finished_2026w38");
    expect(await countOf("webhook_attempt")).toBe(kept - 1);
    expect((await weeksOf("webhook_attempt"))[0]).toBe("2026w42");
    expect(await ensurePartitions(database, NOW, DAYS)).toEqual([]);
  });

  it("dropExpiredPartitions blocks no one while it waits for a reader, and finishes an interrupted drop later", async () => {
    const later = NOW + WEEK_MS;
    let waiting: Promise<unknown> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tx.query(sql`select count(*) from webhook_delivery`);
      waiting = dropExpiredPartitions(database, later, DAYS).catch((error: unknown) => error);
      // It waits now: one partition is being detached. The one of attempts has no reader and is detached within a moment.
      await expect
        .poll(() =>
          database.query(sql`
            select 1 from pg_inherits
            where inhdetachpending and inhrelid::regclass::text = 'webhook_delivery_finished_2026w42'`),
        )
        .toHaveLength(1);
      await finish(newUuid(NOW));
      expect(await countOf("webhook_delivery")).toBeGreaterThan(0);
      // Like a statement timeout.
      await database.query(sql`
        select pg_cancel_backend(pid) from pg_stat_activity
        where datname = current_database() and query like '%detach partition%' and pid <> pg_backend_pid()`);
      expect(await waiting).toBeInstanceOf(Error);
    });
    expect(await dropExpiredPartitions(database, later, DAYS)).toEqual(["webhook_delivery_finished_2026w42"]);
  });
});
