/** The data folder of the embedded databases: stopped, copied, and started from the copy. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { createCliRunner, type CliRunner } from "../support/processes/cli-process.ts";
import { stopAndRemoveAll, makeFolder } from "../support/processes/embedded-processes.ts";
import { startServerProcess, type ServerProcess } from "../support/processes/server-process.ts";

async function start(dataDir: string): Promise<ServerProcess> {
  return await startServerProcess({ WAYMARK_DATA_DIR: dataDir, WAYMARK_DEMO: "off", LOG_LEVEL: "warn" });
}

/** The command line on this data folder. */
function commandLineOn(dataDir: string): CliRunner {
  return createCliRunner(() => ({ WAYMARK_DATA_DIR: dataDir, WEBHOOK_ALLOW_PRIVATE: "on" }));
}

it("starts from the copy with all that was there, and says so where the secret was left behind", async () => {
  onTestFinished(stopAndRemoveAll);
  const [original, parent] = await Promise.all([makeFolder(), makeFolder()]);
  const copy = join(parent, "restored");
  const first = await start(original);
  await first.waitUntilReady();
  const made = await commandLineOn(original).runJson("org", "create", "--name", "Kept", "--type", "agent");
  await commandLineOn(original).runJson(
    "endpoint",
    "create",
    "--org",
    made.id,
    "--url",
    "http://127.0.0.1:9/",
  );
  await first.kill("SIGTERM");
  await promisify(execFile)("cp", ["-a", original, copy]);

  const told = await commandLineOn(copy).runJson("after-restore");
  expect(told).toMatchObject({ newest_event_at: null, deliveries_flagged: 0 });
  const second = await start(copy);
  await second.waitUntilReady();
  const { items } = await commandLineOn(copy).runJson("org", "list");
  expect(items).toEqual([expect.objectContaining({ id: made.id, name: "Kept" })]);
  await second.kill("SIGTERM");

  await rm(join(copy, "secret"));
  const third = await start(copy);
  expect(await third.exited).toBe(1);
  expect(third.output()).toContain(`The file ${join(copy, "secret")} is missing.`);
  const lost = await commandLineOn(copy).runJson("accept-secret");
  expect(lost).toEqual({ endpoints: [expect.stringMatching(/^whe_/)], headers: [], people: [] });
  const fourth = await start(copy);
  await fourth.waitUntilReady();
  await fourth.kill("SIGTERM");
});
