/** The Python client under the load that its acceptance names. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp } from "../support/app/app.fixture.ts";
import { expectChangesExactlyOnce, type ClientReport } from "../support/clients/changes-through-proxy.ts";
import { preparePython, type PythonEnvironment } from "../support/clients/python.ts";

const TIMEOUT_MS = 15 * 60_000;

let folder: string;
let python: PythonEnvironment;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-python-"));
  python = await preparePython(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it(
  "applies each of 10,000 changes once through a proxy that loses, delays and refuses answers",
  { timeout: TIMEOUT_MS },
  async ({ skip }) => {
    skip(python.skipReason !== null, python.skipReason ?? "");
    await using app = await startTestApp();
    await expectChangesExactlyOnce(app, 10_000, async (task) => {
      const report = await python.runJson("change_through_proxy.py", { TASK: JSON.stringify(task) });
      return report as ClientReport;
    });
  },
);

it("lists each of 2,537 jobs once while they change", { timeout: TIMEOUT_MS }, async ({ skip }) => {
  skip(python.skipReason !== null, python.skipReason ?? "");
  await using app = await startTestApp();
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(
    agent,
    Array.from({ length: 2_537 }, () => ({})),
  );
  const settings = { WAYMARK_KEY: agent.key, WAYMARK_URL: app.url };
  const result = await python.runJson("list_while_changing.py", settings);
  const { listed, changed } = result as { listed: string[]; changed: number };
  expect(listed.toSorted()).toEqual(numbers.toSorted());
  expect(changed).toBeGreaterThan(500);
});
