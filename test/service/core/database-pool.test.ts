import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { Organization } from "../../../src/organizations/entity.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { openTransaction } from "../../support/database/blocked-sessions.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";

it("a second pool has its own settings and size, reads with MikroORM, and closes alone", async () => {
  await using testDatabase = await createTestDatabase();
  await using database = await openDatabase({ url: testDatabase.url, poolSize: 1, entities });
  const settings = sql`select current_setting('enable_seqscan') as seqscan, current_setting('TimeZone') as zone`;
  {
    await using pool = await database.openPool({ poolSize: 2, session: { enable_seqscan: "off" } });
    expect(await pool.query(settings)).toEqual([{ seqscan: "off", zone: "UTC" }]);
    await Promise.all([1, 2, 3].map(() => pool.query(sql`select pg_sleep(0.01)`)));
    expect(pool.pool().total).toBe(2);
    await pool.transactional(async (em) => {
      em.create(Organization, { id: randomUUID(), name: "Acme", type: "agent" });
    });
    const found = await pool.em().find(Organization, {}, { filters: false });
    expect(found.map(({ name }) => name)).toEqual(["Acme"]);
  }
  expect(await database.query(settings)).toEqual([{ seqscan: "on", zone: "UTC" }]);
});

// evidence: overload-503-retry-after
it("rejects further statements while 20 wait for each connection, and runs those later", async () => {
  await using testDatabase = await createTestDatabase();
  await using database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  const held = [await openTransaction(database), await openTransaction(database)];
  const waiting = Array.from({ length: 41 }, () => database.query<{ one: number }>(sql`select 1 as one`));
  await expect(database.query(sql`select 1`)).rejects.toMatchObject({
    code: "ServiceUnavailableException",
    message: "The server is overloaded. Try again shortly.",
    headers: { "Retry-After": "1" },
  });
  for (const transaction of held) await transaction.commit();
  expect((await Promise.all(waiting)).flat()).toEqual(waiting.map(() => ({ one: 1 })));
});
