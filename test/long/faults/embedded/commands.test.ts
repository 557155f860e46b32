/** Commands that start the embedded PostgreSQL, or share the one of a running server. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { acquireLock } from "../../../../src/embedded/lock-file.ts";
import { eventually, eventuallyTruthy } from "../../../support/eventually.ts";
import { parseOutput, waitForExit } from "../../../support/processes/cli-process.ts";
import { useCliFixture } from "../../../support/processes/cli.fixture.ts";
import { startHolder } from "../../../support/processes/embedded-processes.ts";

const { start, folder } = useCliFixture();

const embedded = () => ({ DATABASE_URL: "", WAYMARK_DATA_DIR: join(folder(), "embedded") });

it("use the same embedded database with and without a running server", async () => {
  const created = parseOutput(await waitForExit(start(["demo", "--json"], embedded())), 0);
  const server = await startHolder(embedded().WAYMARK_DATA_DIR, "exclusive");
  const again = parseOutput(await waitForExit(start(["demo", "--json"], embedded())), 0);
  expect(again).toEqual(created);
  await server.release();
});

it.each([
  ["after-restore", "The restored database is ready."],
  ["accept-secret", "This database now accepts the current WAYMARK_SECRET."],
])("prints the result of %s before it releases the database, which may fail", async (command, result) => {
  const dataDir = embedded().WAYMARK_DATA_DIR;
  const child = start([command], embedded());
  let printed = "";
  child.stdout?.on("data", (chunk) => (printed += String(chunk)));
  const exited = once(child, "exit");
  const reference = `postgres-reference-shared-${child.pid}-`;
  await eventuallyTruthy(
    async () => (await readdir(dataDir).catch(() => [])).some((name) => name.startsWith(reference)),
    { timeoutMs: 30_000, intervalMs: 5 },
  );
  // The command held the lock when it added its reference, and needs it again to release the database.
  const unlock = await eventuallyTruthy(() => acquireLock(join(dataDir, "postgres-start.lock")), {
    timeoutMs: 30_000,
    intervalMs: 1,
  });
  try {
    await eventually(() => expect(printed).toContain(result));
    expect(child.exitCode).toBeNull();
  } finally {
    unlock();
  }
  expect(await exited).toEqual([0, null]);
});
