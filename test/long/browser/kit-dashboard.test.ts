/** Runs the starter kit `clients/examples/dashboard`, and interrupts its connections. */
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page, Request } from "playwright-core";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { encodeCursor } from "../../../src/core/cursor.ts";
import { startAppInstance } from "../../support/app/app-instance.ts";
import { startTestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectData } from "../../support/app/assertions.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { findPageProblems } from "../../support/browser/axe.ts";
import { prepareBrowser, sharedBrowser } from "../../support/browser/shared-console.ts";
import { DESKTOP, expectVisible, PHONE } from "../../support/browser/tabs.ts";
import { kitFolder, runNpm, type RunningKit } from "../../support/clients/starter-kit.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { freePort } from "../../support/free-port.ts";

const folder = kitFolder("dashboard");
const THIRTY_ONE_DAYS_MS = 31 * 24 * 60 * 60 * 1_000;

await prepareBrowser();
const app = await startTestApp({ WAYMARK_ROLE: "api" });
let agent: TestOrganization;
let numbers: string[];

afterAll(() => app[Symbol.asyncDispose]());
beforeEach(async () => {
  agent = await app.createOrganization("agent");
  numbers = await app.createJobs(agent, [
    { patch: { normalized_status: "pending", recipient_name: "Harbour Street Bakery" } },
    { patch: { normalized_status: "pending", recipient_name: "Mill Lane Pharmacy" } },
    { patch: { normalized_status: "in_transit", recipient_name: "Quay Parade School" } },
  ]);
  await waitUntilFeedIsComplete(app.database);
});

interface Dashboard {
  url: string;
  kit: RunningKit;
}

/** Starts the kit as its README says, on a free port. */
async function startDashboard(waymark = app.url, key = agent.key): Promise<Dashboard> {
  const port = String(await freePort());
  const options = ["--host", "127.0.0.1", "--port", port, "--strictPort"];
  const kit = runNpm(folder, ["start", "--", ...options], { WAYMARK_URL: waymark, WAYMARK_KEY: key });
  await kit.waitFor("Local:");
  return { url: `http://127.0.0.1:${port}`, kit };
}

interface PageOptions {
  viewport?: { width: number; height: number };
  colorScheme?: "light" | "dark";
}

async function openPage(
  url: string,
  { viewport = DESKTOP, colorScheme = "light" }: PageOptions = {},
): Promise<Page> {
  const browser = await sharedBrowser();
  const context = await browser.newContext({
    viewport,
    colorScheme,
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Starts the kit and waits until its page is live. */
async function openDashboard(waymark?: string, options?: PageOptions): Promise<Page> {
  const page = await openPage((await startDashboard(waymark)).url, options);
  await expectVisible(page.getByText("Live", { exact: true }));
  return page;
}

const row = (page: Page, number: string) => page.getByRole("link").filter({ hasText: number });
const expectStatus = (page: Page, number: string, label: string): Promise<void> =>
  expectVisible(row(page, number).getByText(label));

async function change(number: string, patch: object): Promise<void> {
  expectData(await patchJob(app, agent, number, patch));
}

const isOperation =
  (name: string) =>
  (request: Request): boolean =>
    (request.postData() ?? "").includes(`"operationName":"${name}"`);

describe("the page", () => {
  it("shows the jobs with the number of each status, filters them, and shows a job with its history", async () => {
    const page = await openDashboard();
    await expectVisible(page.getByText("3 of 3 jobs"));
    await page.getByRole("button", { name: "Pending 2" }).click();
    await expectVisible(page.getByText("2 of 2 jobs"));
    expect(await row(page, numbers[2]!).count()).toBe(0);
    await page.getByRole("searchbox").fill("mill lane");
    await expectVisible(page.getByText("1 of 1 jobs"));
    await row(page, numbers[1]!).click();
    await expectVisible(page.getByRole("heading", { name: numbers[1]! }));
    await expectVisible(page.getByText("Created", { exact: true }));
    await page.reload();
    await expectVisible(page.getByRole("heading", { name: numbers[1]! }));
    await page.getByRole("searchbox").fill("nothing like this");
    await expectVisible(page.getByText("No job matches these filters."));
    await page.getByRole("button", { name: "Clear filters" }).click();
    await expectVisible(page.getByText("3 of 3 jobs"));
  });

  it("shows a change of a job, its history and the number of each status without a reload", async () => {
    const page = await openDashboard();
    await row(page, numbers[0]!).click();
    await expectVisible(page.getByRole("heading", { name: numbers[0]! }));
    await change(numbers[0]!, { normalized_status: "completed" });
    await expectStatus(page, numbers[0]!, "Completed");
    await expectVisible(page.getByText("Status: Pending → Completed"));
    await expectVisible(page.getByRole("button", { name: "Completed 1" }));
  });

  it("shows no older version of a job, when a response is slower than an event", async () => {
    const page = await openDashboard();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes('"first":3')) return await route.continue();
      const response = await route.fetch();
      const text = await response.text();
      hold();
      await released;
      return await route.fulfill({ response, body: text.replace("Mill Lane Pharmacy", "Received late") });
    });
    await page.evaluate(`Promise.all([import("/src/client.ts"), import("/src/queries.ts")]).then(
      ([{ apollo }, { JOBS }]) =>
        void apollo.query({ query: JOBS, variables: { first: 3 }, fetchPolicy: "network-only" }))`);
    await held;
    const refreshed = page.waitForResponse((response) => isOperation("Jobs")(response.request()));
    await change(numbers[0]!, { normalized_status: "completed" });
    await expectVisible(page.getByRole("button", { name: "Completed 1" }));
    await refreshed;
    await expectStatus(page, numbers[0]!, "Completed");
    release();
    await expectVisible(row(page, numbers[1]!).getByText("Received late"));
    expect(await row(page, numbers[0]!).textContent()).toContain("Completed");
  });

  it.each([
    { name: "a desktop, light", viewport: DESKTOP, colorScheme: "light" },
    { name: "a desktop, dark", viewport: DESKTOP, colorScheme: "dark" },
    { name: "a phone, light", viewport: PHONE, colorScheme: "light" },
    { name: "a phone, dark", viewport: PHONE, colorScheme: "dark" },
  ] as const)("is accessible, and not wider than the screen, on $name", async ({ viewport, colorScheme }) => {
    const page = await openDashboard(app.url, { viewport, colorScheme });
    const expectAccessible = async (): Promise<void> => {
      expect(await findPageProblems(page)).toEqual([]);
    };
    await expectVisible(row(page, numbers[0]!));
    await expectAccessible();
    await row(page, numbers[0]!).click();
    await expectVisible(page.getByRole("heading", { name: numbers[0]! }));
    await expectAccessible();
    await page.goto(`${new URL(page.url()).origin}/?q=nothing&job=job_unknown`);
    await expectVisible(page.getByRole("heading", { name: "Job not found" }));
    await expectAccessible();
  });
});

describe("an interrupted connection", () => {
  it("catches up on the changes that it missed, from the cursor of the last event", async () => {
    await using proxy = await startFaultProxy(app.url);
    const page = await openDashboard(proxy.url);
    await change(numbers[2]!, { normalized_status: "arrived" });
    await expectStatus(page, numbers[2]!, "Arrived");
    proxy.disconnect();
    await expectVisible(page.getByText("Connection lost. Reconnecting…"));
    await change(numbers[0]!, { normalized_status: "completed" });
    await change(numbers[1]!, { normalized_status: "cancelled" });
    const missed = page.waitForResponse((response) => isOperation("MissedEvents")(response.request()));
    proxy.restore();
    const { data } = (await (await missed).json()) as {
      data: { events: { nodes: { job: { markingNumber: string } }[] } };
    };
    expect(data.events.nodes.map(({ job }) => job.markingNumber)).toEqual([numbers[0], numbers[1]]);
    await expectStatus(page, numbers[0]!, "Completed");
    await expectStatus(page, numbers[1]!, "Cancelled");
    await expectVisible(page.getByText("Live", { exact: true }));
    await change(numbers[2]!, { normalized_status: "completed" });
    await expectVisible(page.getByRole("button", { name: "Completed 2" }));
  });

  it("reconnects if the network stops delivering without closing the connection", async () => {
    await using proxy = await startFaultProxy(app.url);
    const page = await openDashboard(proxy.url);
    await change(numbers[2]!, { normalized_status: "arrived" });
    // The page has read everything, so only another connection can bring the next change.
    await expectVisible(page.getByRole("button", { name: "Arrived 1" }));
    proxy.silence();
    await change(numbers[0]!, { normalized_status: "completed" });
    await expectStatus(page, numbers[0]!, "Completed");
  });

  it("continues from now, if the missed changes are older than the feed", async () => {
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
    clock.advance(THIRTY_ONE_DAYS_MS);
    await using proxy = await startFaultProxy(later.url);
    const page = await openDashboard(proxy.url);
    await page.route("**/graphql", async (route) => {
      if (!isOperation("MissedEvents")(route.request())) return await route.continue();
      const body = route.request().postDataJSON() as object;
      const postData = { ...body, variables: { after: encodeCursor("events", ["0", "0"]) } };
      return await route.continue({ postData });
    });
    const missed = page.waitForResponse((response) => isOperation("MissedEvents")(response.request()));
    proxy.disconnect();
    await change(numbers[0]!, { normalized_status: "completed" });
    proxy.restore();
    expect((await missed).status()).toBe(410);
    await expectVisible(page.getByText("Live", { exact: true }));
    await expectStatus(page, numbers[0]!, "Completed");
    await change(numbers[1]!, { normalized_status: "completed" });
    await expectStatus(page, numbers[1]!, "Completed");
  });

  it("says so if Waymark rejects the key or can't be reached", async () => {
    const rejected = await openPage((await startDashboard(app.url, "wmk_unknown")).url);
    await expectVisible(rejected.getByText("Live updates refused. Trying again in 30 s"));
    await expectVisible(rejected.getByRole("heading", { name: "Can’t read from Waymark" }));
    expect(await findPageProblems(rejected)).toEqual([]);
    await using proxy = await startFaultProxy(app.url);
    proxy.disconnect();
    const away = await openPage((await startDashboard(proxy.url)).url);
    await expectVisible(away.getByText(/^Waymark can’t be reached/));
    proxy.restore();
    await away.getByRole("button", { name: "Try again" }).click();
    await expectVisible(row(away, numbers[0]!));
  });
});

describe("the key", () => {
  it("is in no file of the build, and the build needs none", async () => {
    await using output = await mkdtempDisposable(join(tmpdir(), "waymark-dashboard-"));
    const args = ["run", "build", "--", "--outDir", output.path];
    const build = runNpm(folder, args, { WAYMARK_URL: app.url, WAYMARK_KEY: agent.key });
    expect(await build.exited).toBe(0);
    const files = await readdir(output.path, { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    expect(paths.length).toBeGreaterThanOrEqual(3);
    for (const path of paths) {
      const text = await readFile(path, "utf8");
      expect([path, text.includes(agent.key), text.includes(app.url)]).toEqual([path, false, false]);
    }
  });

  it("serves no page of another origin: 404", async () => {
    const { url } = await startDashboard();
    const request = (origin: Record<string, string>): Promise<Response> =>
      fetch(`${url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", ...origin },
        body: JSON.stringify({ query: "{ viewer { kind } }" }),
      });
    expect((await request({ origin: url })).status).toBe(200);
    expect((await request({ origin: "http://127.0.0.1:1" })).status).toBe(404);
    // Browsers send this for a page in a sandboxed frame.
    expect((await request({ origin: "null" })).status).toBe(404);
    expect((await request({})).status).toBe(404);
  });

  it.each(["WAYMARK_URL", "WAYMARK_KEY"])(
    "is asked for by name: without %s the kit stops",
    async (missing) => {
      const settings = { WAYMARK_URL: app.url, WAYMARK_KEY: agent.key, [missing]: "" };
      const kit = runNpm(folder, ["start"], settings);
      expect(await kit.exited).not.toBe(0);
      expect(kit.output()).toContain(`Set ${missing} to `);
    },
  );
});
