/** Migrations and entities describe the same schema. */
import { MikroORM } from "@mikro-orm/postgresql";
import { afterAll, beforeAll, expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { ormOptions } from "../../../src/core/postgres/orm-options.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

it("migrations create exactly the schema of the entities", async () => {
  const orm = await MikroORM.init(ormOptions({ url: database.url, poolSize: 2, entities }));
  const missing = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  await orm.close(true);
  expect(missing.trim()).toBe("");
});

it("the migration snapshot is up to date", async () => {
  const orm = await MikroORM.init(ormOptions({ url: database.url, poolSize: 2, entities }));
  const isDue = await orm.migrator.checkSchema();
  await orm.close(true);
  expect(isDue).toBe(false);
});
