/** Runs the starter kit `clients/examples/mirror-typescript`, with the client that the app serves. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startAppInstance } from "../../support/app/app-instance.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectData } from "../../support/app/assertions.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { listJobs, patchJob } from "../../support/app/job-client.ts";
import { installKit, runNpm, type RunningKit } from "../../support/clients/starter-kit.ts";
import { eventually } from "../../support/eventually.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: BUILD_TIMEOUT_MS });

const THIRTY_ONE_DAYS_MS = 31 * 24 * 60 * 60 * 1_000;

const opened = new AsyncDisposableStack();
let app: TestApp;
let folder: string;

beforeAll(async () => {
  await buildSite();
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
  folder = opened.use(await installKit("mirror-typescript", app)).path;
});
afterAll(() => opened.disposeAsync());

/** Starts the kit as its README says. Each organisation has a mirror of its own. */
function startMirror(partner: TestOrganization, url = app.url): RunningKit {
  return runNpm(folder, ["start"], {
    WAYMARK_URL: url,
    WAYMARK_KEY: partner.key,
    DATABASE: databaseOf(partner),
    POLL_INTERVAL_MS: "1000",
  });
}

const databaseOf = ({ id }: TestOrganization): string => join(folder, `${id}.sqlite`);

interface MirroredJob {
  marking_number: string;
  normalized_status: string;
  version: number;
}

const byNumber = (a: MirroredJob, b: MirroredJob): number => (a.marking_number < b.marking_number ? -1 : 1);

function mirroredJobs(partner: TestOrganization): MirroredJob[] {
  const database = new DatabaseSync(databaseOf(partner), { readOnly: true });
  try {
    const rows = database.prepare("select version, job from job where job is not null").all();
    const jobs = rows.map(({ version, job }) => ({ ...JSON.parse(String(job)), version }) as MirroredJob);
    return jobs.toSorted(byNumber);
  } finally {
    database.close();
  }
}

/** Waits until the mirror has exactly the jobs that the API lists, in the same versions. */
async function expectInSync(partner: TestOrganization): Promise<void> {
  const { items } = expectData(await listJobs(app, partner, "page_size=100"));
  await eventually(() => expect(mirroredJobs(partner)).toEqual((items as MirroredJob[]).toSorted(byNumber)));
}

async function change(partner: TestOrganization, number: string, status: string): Promise<void> {
  expectData(await patchJob(app, partner, number, { normalized_status: status }));
}

it("copies all jobs, applies each change, and continues where it stopped", async () => {
  const agent = await app.createOrganization("agent");
  const [a = "", b = ""] = await app.createJobs(agent, [{}, {}, {}]);
  await waitUntilFeedIsComplete(app.database);
  const first = startMirror(agent);
  await first.waitFor("3 jobs listed, 3 copied, 0 deleted");
  await change(agent, a, "completed");
  await first.waitFor(`job.status_changed ${a} version 2`);
  await expectInSync(agent);
  await first.stop();
  expect(first.output()).toContain("Stopped");

  await change(agent, a, "failed");
  await change(agent, b, "completed");
  const second = startMirror(agent);
  await second.waitFor(`job.status_changed ${a} version 3`);
  await second.waitFor(`job.status_changed ${b} version 2`);
  await expectInSync(agent);
  await second.stop();
  expect(second.output()).not.toContain("jobs listed");
});

it("compares all jobs after more than 30 days, and deletes those that it no longer sees", async () => {
  const agent = await app.createOrganization("agent");
  const contractor = await app.createOrganization("contractor");
  const other = await app.createOrganization("contractor");
  const [a = "", b = ""] = await app.createJobs(agent, [{ contractor }, { contractor }]);
  await waitUntilFeedIsComplete(app.database);
  const first = startMirror(contractor);
  await first.waitFor("2 jobs listed");
  await first.stop();
  await change(agent, a, "completed");
  await app.createJobs(agent, [{ markingNumber: b, contractor: other }]);

  const clock = createFakeClock();
  await using later = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
  clock.advance(THIRTY_ONE_DAYS_MS);
  const second = startMirror(contractor, later.url);
  await second.waitFor("1 jobs listed, 1 copied, 1 deleted");
  expect(second.output()).toContain("Away for more than 30 days");
  expect(mirroredJobs(contractor)).toMatchObject([{ marking_number: a, normalized_status: "completed" }]);
  await change(agent, a, "failed");
  await expectInSync(contractor);
});

it.each(["WAYMARK_URL", "WAYMARK_KEY"])("without %s it stops and names it", async (missing) => {
  const mirror = runNpm(folder, ["start"], { WAYMARK_URL: app.url, WAYMARK_KEY: "wmk_x", [missing]: "" });
  expect(await mirror.exited).toBe(1);
  expect(mirror.output()).toContain(`Set ${missing} to `);
});
