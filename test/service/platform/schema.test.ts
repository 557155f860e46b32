/** The schema: entities and migrations say the same. */
import { MikroORM } from "@mikro-orm/postgresql";
import { afterAll, beforeAll, expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { ormOptions } from "../../../src/platform/postgres/database.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

it("the migrations lead to exactly the schema that the entities describe", async () => {
  const orm = await MikroORM.init(ormOptions({ url: database.url, poolSize: 2, entities }));
  const missing = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  await orm.close(true);
  expect(missing.trim()).toBe("");
});

it("the snapshot of the migrations is up to date, so that the next migration holds only its own change", async () => {
  const orm = await MikroORM.init(ormOptions({ url: database.url, poolSize: 2, entities }));
  const isDue = await orm.migrator.checkSchema();
  await orm.close(true);
  expect(isDue).toBe(false);
});
