/** Each starter kit in TypeScript starts with one command, with the keys of the demo. `python-mirror.test.ts` has the one in Python. */
import { cp, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectData } from "../../support/app/assertions.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { kitFolder, runScript, type KitSettings } from "../../support/clients/starter-kit.ts";
import { freePort } from "../../support/free-port.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: BUILD_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let app: TestApp;
let agent: TestOrganization;
let markingNumber: string;

beforeAll(async () => {
  await buildSite();
  app = opened.use(await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" }));
  agent = await app.createOrganization("agent");
  [markingNumber = ""] = await app.createJobs(agent, [{}]);
});
afterAll(() => opened.disposeAsync());

/** Copies the kit, and writes the keys of the demo as `npm start` does. */
async function copyKit(kit: string): Promise<{ folder: string; settings: KitSettings }> {
  const temporary = await mkdtempDisposable(join(tmpdir(), `waymark-${kit}-`));
  onTestFinished(() => temporary.remove());
  const folder = join(temporary.path, kit);
  await cp(kitFolder(kit), folder, {
    recursive: true,
    filter: (path) => !/node_modules|\.sqlite|\.env$/.test(path),
  });
  await writeFile(join(temporary.path, "demo-keys.json"), JSON.stringify({ agent: agent.key }));
  return { folder, settings: { WAYMARK_URL: app.url, WAYMARK_DATA_DIR: temporary.path } };
}

it("the mirror copies the jobs", async () => {
  const { folder, settings } = await copyKit("mirror-typescript");
  const mirror = runScript(folder, settings);
  await mirror.waitFor("jobs listed");
  expect(mirror.output()).toContain("1 jobs listed, 1 copied, 0 deleted");
});

it("the dashboard serves its page", async () => {
  const { folder, settings } = await copyKit("dashboard");
  // The repository has the versions that its package.json names: test/architecture/lockfile.test.ts.
  await symlink(join(import.meta.dirname, "../../../node_modules"), join(folder, "node_modules"));
  const dashboard = runScript(folder, settings);
  await dashboard.waitFor("Local:");
  const page = await fetch(/http:\/\/localhost:\d+\//.exec(dashboard.output())?.[0] ?? "");
  expect(await page.text()).toContain("<title>");
});

it("the receiver creates an endpoint once, and handles a change", async () => {
  const { folder, settings } = await copyKit("webhook-receiver");
  const port = String(await freePort());
  const start = () => runScript(folder, { ...settings, PORT: port });
  const first = start();
  await first.waitFor("Listening on port");
  expect(first.output()).toContain("Created an endpoint");
  expectData(await patchJob(app, agent, markingNumber, { normalized_status: "completed" }));
  await first.waitFor(markingNumber);
  await first.stop();

  const second = start();
  await second.waitFor("Listening on port");
  expect(second.output()).not.toContain("Created an endpoint");
  const { items } = expectData(await app.call("/v1/webhook-endpoints", { key: agent.key }));
  expect(items).toHaveLength(1);
});

it("without a key, the script says what to set", async () => {
  const { folder } = await copyKit("mirror-typescript");
  const script = runScript(folder, { WAYMARK_URL: app.url, WAYMARK_DATA_DIR: folder });
  expect(await script.exited).toBe(1);
  expect(script.output()).toContain("Set WAYMARK_KEY to an API key with the scope jobs:read");
});
