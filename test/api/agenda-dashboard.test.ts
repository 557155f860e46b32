/** Agenda's dashboard, for signed-in operators. */
import type { Response, Test } from "supertest";
import { afterAll, describe, expect, it } from "vitest";
import { MongoClient } from "mongodb";
import { TASKS_COLLECTION } from "../../src/scheduling/task.ts";
import { expectFailure } from "../support/app/assertions.ts";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";

const PAGE = { accept: "text/html" };

const opened = new AsyncDisposableStack();
const { url } = opened.use(createTestMongo());
const mongo = new MongoClient(url);
opened.defer(() => mongo.close());
const tasks = mongo.db().collection(TASKS_COLLECTION);
const proxy = opened.use(await startFaultProxy(url));
// An API process without a worker runs no Agenda.
const shared = await sharedApp("api");
const app = opened.use(
  await startAppInstance(shared.databaseUrl, { MONGODB_URL: proxy.url, WAYMARK_ROLE: "api" }),
);
const { id: organizationId, key } = await shared.createOrganization("agent");
const owner = await signIn(app, await createTestUser(app, { organizationId, role: "owner" }));
const operator = await signIn(app, await createTestUser(app, { organizationId: null, role: "operator" }));
await tasks.insertMany([
  {
    name: "mails.sweep",
    type: "single",
    nextRunAt: new Date(),
    data: {},
    priority: 0,
    repeatInterval: "10 seconds",
  },
  {
    name: "webhooks.retry",
    type: "normal",
    nextRunAt: new Date(Date.now() + 60_000),
    data: { second: 1 },
    priority: 0,
  },
]);
afterAll(() => opened.disposeAsync());

/** Follows the redirect. */
function leadsTo(response: Response, from: string): string {
  const { pathname, search } = new URL(response.get("location") ?? "", `https://a.example${from}`);
  return pathname + search;
}

function get(path: string, { cookie }: { cookie: string }, headers: Record<string, string> = {}): Test {
  return app.request(`/operator/agenda${path}`, { headers: { cookie, ...headers } });
}

interface Shown {
  jobs: { job: { name: string } }[];
  overview: { displayName: string; total: number }[];
}

async function jobsOf(path: string): Promise<string[]> {
  const response = await get(path, operator);
  expect(response.status).toBe(200);
  return (response.body as Shown).jobs.map(({ job }) => job.name);
}

describe("an operator", () => {
  it("gets the page, whose CSP allows only scripts and styles of this origin", async () => {
    const page = await get("/", operator, PAGE);
    expect(page.status).toBe(200);
    const policy = page.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/unsafe|\*/);
    const text = page.text;
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|style=/);
    const files = [...text.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, path = ""]) => path);
    expect(files).toHaveLength(3);
    for (const file of files) expect((await get(file, operator)).status).toBe(200);
  });

  it.each(["", "/index.html"])("is redirected from %j to the page, whose URLs are relative", async (path) => {
    const response = await get(path, operator, PAGE);
    expect(response.status).toBe(308);
    expect(leadsTo(response, `/operator/agenda${path}`)).toBe("/operator/agenda/");
  });

  it("lists the tasks of all processes, by name and page", async () => {
    expect((await jobsOf("/api")).toSorted()).toEqual(["mails.sweep", "webhooks.retry"]);
    expect(await jobsOf("/api?job=webhooks.retry")).toEqual(["webhooks.retry"]);
    expect(await jobsOf("/api?q=MAILS")).toEqual(["mails.sweep"]);
    expect(await jobsOf("/api?limit=1")).toHaveLength(1);
    expect(await jobsOf("/api?limit=nonsense&skip=-1&job[$ne]=x&q=%5B.*(")).toEqual([]);
  });

  it("gets each task with its interval, last run, failures in a row and next run", async () => {
    const [lastRunAt, lastFinishedAt, nextRunAt] = [1, 2, 3].map(
      (n) => new Date(`2026-11-01T10:00:0${n}.000Z`),
    );
    const recurring = {
      type: "single",
      repeatInterval: 5_000,
      lastRunAt,
      lastFinishedAt,
      nextRunAt,
      priority: 0,
    };
    await tasks.insertMany([
      { ...recurring, name: "test.fails", failCount: 3, failReason: "boom", lockedAt: null },
      { ...recurring, name: "test.works", failCount: 0, failReason: "boom before", lockedAt: new Date() },
    ]);
    try {
      const { status, body } = await get("/tasks", operator);
      expect(status).toBe(200);
      const found = (body as { data: { tasks: { name: string }[] } }).data.tasks;
      expect(found.find(({ name }) => name === "test.fails")).toEqual({
        name: "test.fails",
        interval_ms: 5_000,
        scheduled: 1,
        is_running: false,
        last_run_at: lastRunAt?.toISOString(),
        last_finished_at: lastFinishedAt?.toISOString(),
        next_run_at: nextRunAt?.toISOString(),
        failures_in_a_row: 3,
        failure: "boom",
      });
      const works = found.find(({ name }) => name === "test.works");
      expect(works).toMatchObject({ is_running: true, failures_in_a_row: 0, failure: null });
      const retry = found.find(({ name }) => name === "webhooks.retry");
      expect(retry).toMatchObject({ interval_ms: null, scheduled: 1, last_run_at: null });
    } finally {
      await tasks.deleteMany({ name: { $in: ["test.fails", "test.works"] } });
    }
  });

  it("gets no statistics and no events of one Agenda", async () => {
    expect((await get("/api/stats", operator)).body).toBeNull();
    expect((await get("/api/events", operator)).status).toBe(204);
  });

  it.each([
    "/api/jobs/requeue",
    "/api/jobs/retry",
    "/api/jobs/delete",
    "/api/jobs/create",
    "/api/jobs/pause",
  ])("gets 405 for %s, from any origin", async (path) => {
    const before = await tasks.find().toArray();
    const jobIds = before.map(({ _id: id }) => String(id));
    for (const origin of [app.url, "https://evil.example"]) {
      const response = await app.request(`/operator/agenda${path}`, {
        method: "POST",
        headers: { cookie: operator.cookie, origin },
        body: JSON.stringify({ jobIds, jobName: "mails.sweep" }),
      });
      expect(response.status).toBe(405);
    }
    expect(await tasks.find().toArray()).toEqual(before);
  });
});

describe("other callers", () => {
  it("are redirected to the sign-in page and back if they have no session", async () => {
    const response = await get("/", { cookie: "" }, PAGE);
    expect(response.status).toBe(302);
    expect(leadsTo(response, "/operator/agenda/")).toBe("/sign-in?next=%2Foperator%2Fagenda%2F");
  });

  it.each(["/api", "/api/stats", "/assets/x.js"])(
    "get 401 for %s with a key, and 403 as partners",
    async (path) => {
      expectFailure(await owner.get(`/operator/agenda${path}`), 403);
      expectFailure(await app.call(`/operator/agenda${path}`, { key }), 401);
    },
  );

  it("don't get the page", async () => {
    expect((await get("/", owner, PAGE)).status).toBe(403);
  });
});

it("responds 503 with a message while MongoDB is unreachable, to the page and its requests", async () => {
  proxy.disconnect();
  await expect.poll(async () => (await get("/", operator, PAGE)).status).toBe(503);
  const page = await get("/", operator, PAGE);
  expect(page.text).toContain("MongoDB is unreachable");
  expectFailure(await operator.get("/operator/agenda/api"), 503);
  proxy.restore();
  await expect.poll(async () => (await get("/api", operator)).status).toBe(200);
});
