/** Commands that start the embedded PostgreSQL, or use the one of a running server. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { eventually, eventuallyTruthy } from "../../../support/eventually.ts";
import { parseOutput, waitForExit } from "../../../support/processes/cli-process.ts";
import { useCliFixture } from "../../../support/processes/cli.fixture.ts";
import {
  NONEXISTENT_PID,
  postmasterPid,
  startHolder,
} from "../../../support/processes/embedded-processes.ts";

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
])("prints the result of %s before it stops PostgreSQL, which may fail", async (command, result) => {
  const dataDir = embedded().WAYMARK_DATA_DIR;
  await waitForExit(start(["migrate"], embedded()));
  const child = start([command], embedded());
  let printed = "";
  child.stdout?.on("data", (chunk) => (printed += String(chunk)));
  const exited = once(child, "exit");
  // PostgreSQL cannot stop while its checkpointer is suspended.
  const checkpointer = await eventuallyTruthy(() => findCheckpointer(dataDir), { intervalMs: 5 });
  process.kill(checkpointer, "SIGSTOP");
  try {
    await eventually(() => expect(printed).toContain(result));
    expect(child.exitCode).toBeNull();
  } finally {
    process.kill(checkpointer, "SIGCONT");
  }
  expect(await exited).toEqual([0, null]);
});

async function findCheckpointer(dataDir: string): Promise<number> {
  const parent = String(await postmasterPid(dataDir).catch(() => NONEXISTENT_PID));
  const found = promisify(execFile)("pgrep", ["-P", parent, "-f", "checkpointer"]);
  return Number((await found.catch(() => null))?.stdout ?? 0);
}
