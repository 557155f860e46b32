import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { Organization } from "../../../src/organizations/organization.entity.ts";
import { openDatabase } from "../../../src/platform/postgres/database.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
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
