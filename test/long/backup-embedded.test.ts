/** Backup of the embedded databases: stop, copy the data folder, start from the copy. */
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

/** Returns a CLI runner for this data folder. */
function commandLineOn(dataDir: string): CliRunner {
  return createCliRunner(() => ({ WAYMARK_DATA_DIR: dataDir, WEBHOOK_ALLOW_PRIVATE: "on" }));
}

it("starts from the copy with all data, and fails with a message if the secret file was not copied", async () => {
  onTestFinished(stopAndRemoveAll);
  const [original, parent] = await Promise.all([makeFolder(), makeFolder()]);
  const copy = join(parent, "restored");
  const first = await start(original);
  await first.waitUntilReady();
  const created = await commandLineOn(original).runJson("org", "create", "--name", "Kept", "--type", "agent");
  await commandLineOn(original).runJson(
    "endpoint",
    "create",
    "--org",
    created.id,
    "--url",
    "http://127.0.0.1:9/",
  );
  await first.kill("SIGTERM");
  await promisify(execFile)("cp", ["-a", original, copy]);

  const report = await commandLineOn(copy).runJson("after-restore");
  expect(report).toMatchObject({ newest_event_at: null, deliveries_flagged: 0 });
  const second = await start(copy);
  await second.waitUntilReady();
  const { items } = await commandLineOn(copy).runJson("org", "list");
  expect(items).toEqual([expect.objectContaining({ id: created.id, name: "Kept" })]);
  await second.kill("SIGTERM");

  await rm(join(copy, "secret"));
  const third = await start(copy);
  expect(await third.exited).toBe(1);
  expect(third.output()).toContain(`The file ${join(copy, "secret")} is missing.`);
  const unreadable = await commandLineOn(copy).runJson("accept-secret");
  expect(unreadable).toEqual({ endpoints: [expect.stringMatching(/^whe_/)], headers: [], user_emails: [] });
  const fourth = await start(copy);
  await fourth.waitUntilReady();
  await fourth.kill("SIGTERM");
});
