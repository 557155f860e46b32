/** The command line on a database of its own, which has an agent, "Acme", and a contractor, "Swift Couriers". */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, vi } from "vitest";
import { entities } from "../../src/entities.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { commandLine, type CommandLine } from "./command-line.ts";
import { TEST_SECRET } from "./secret.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

export interface CommandLineRig extends CommandLine {
  database: () => Database;
  /** For files of the tests. */
  folder: () => string;
  /** Writes a file there and resolves with its path. */
  fileOf: (name: string, content: string | Uint8Array) => Promise<string>;
}

/** To be called once in a test file, outside of its tests: it registers what sets the rig up and takes it down. */
export function useCommandLine(): CommandLineRig {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  // Each command is a process of its own, which takes a while on a busy machine.
  vi.setConfig({ testTimeout: 90_000 });
  const commands = commandLine(() => ({
    DATABASE_URL: testDatabase.url,
    WAYMARK_SECRET: TEST_SECRET,
    WAYMARK_DATA_DIR: join(folder, "data"),
    PORT: "0",
  }));
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
    database: () => database,
    folder: () => folder,
    async fileOf(name, content) {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
  };
}
