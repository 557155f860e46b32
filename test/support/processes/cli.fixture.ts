/** The command line on a new database with the agent "Acme" and the contractor "Swift Couriers". */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { createCliRunner, type EnvironmentVariables } from "./cli-process.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { createTestDatabase, type TestDatabase } from "../database/test-database.ts";

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. */
export function useCliFixture() {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  const environment = (): EnvironmentVariables => ({
    DATABASE_URL: testDatabase.url,
    WAYMARK_SECRET: TEST_SECRET,
    WAYMARK_DATA_DIR: join(folder, "data"),
    PORT: "0",
  });
  const commands = createCliRunner(environment);
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
    folder = await mkdtemp(join(tmpdir(), "waymark-cli-"));
    await commands.run("org", "create", "--name", "Acme", "--type", "agent");
    await commands.run("org", "create", "--name", "Swift Couriers", "--type", "contractor");
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    await testDatabase[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ...commands,
    /** The settings of every command. */
    environment,
    database: () => database,
    folder: () => folder,
    /** Writes a file to `folder` and returns its path. */
    writeTestFile: async (name: string, content: string | Uint8Array): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
  };
}
