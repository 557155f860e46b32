/** The data folder of the embedded databases: stopped, copied, and started from the copy. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { commandLine, type CommandLine } from "../support/command-line.ts";
import { cleanUp, makeFolder } from "../support/embedded-processes.ts";
import { startServer, type ServerProcess } from "../support/server-process.ts";

async function start(dataDir: string): Promise<ServerProcess> {
  return await startServer({ WAYMARK_DATA_DIR: dataDir, WAYMARK_DEMO: "off", LOG_LEVEL: "warn" });
}

/** The command line on this data folder. */
function at(dataDir: string): CommandLine {
  return commandLine(() => ({ WAYMARK_DATA_DIR: dataDir, WEBHOOK_ALLOW_PRIVATE: "on" }));
}

it("starts from the copy with all that was there, and says so where the secret was left behind", async () => {
  onTestFinished(cleanUp);
  const [original, parent] = await Promise.all([makeFolder(), makeFolder()]);
  const copy = join(parent, "restored");
  const first = await start(original);
  await first.ready();
  const made = await at(original).documentOf("org", "create", "--name", "Kept", "--type", "agent");
  await at(original).documentOf("endpoint", "create", "--org", made.id, "--url", "http://127.0.0.1:9/");
  await first.kill("SIGTERM");
  await promisify(execFile)("cp", ["-a", original, copy]);

  const told = await at(copy).documentOf("after-restore");
  expect(told).toMatchObject({ newest_event_at: null, deliveries_marked: 0 });
  const second = await start(copy);
  await second.ready();
  const { items } = await at(copy).documentOf("org", "list");
  expect(items).toEqual([expect.objectContaining({ id: made.id, name: "Kept" })]);
  await second.kill("SIGTERM");

  await rm(join(copy, "secret"));
  const third = await start(copy);
  expect(await third.ended).toBe(1);
  expect(third.output()).toContain(`The file ${join(copy, "secret")} is missing.`);
  const lost = await at(copy).documentOf("accept-secret");
  expect(lost).toEqual({ endpoints: [expect.stringMatching(/^whe_/)], headers: [], people: [] });
  const fourth = await start(copy);
  await fourth.ready();
  await fourth.kill("SIGTERM");
});
