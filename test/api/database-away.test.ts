import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { startAppInstance, type AppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { getJob, listJobs, patchBatch, patchJob } from "../support/app/job-client.ts";
import { lockJobRow } from "../support/database/blocked-sessions.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

let app: SharedApp;
let agent: TestOrganization;
let number: string;

beforeAll(async () => {
  app = await sharedApp();
  agent = await app.createOrganization("agent");
  [number = ""] = await app.createJobs(agent, [{}]);
});

function expectUnavailable(response: ApiResponse): void {
  const error = expectFailure(response, 503);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(error.details).toBeNull();
  expect(error.message).not.toMatch(/ECONN|127\.0\.0\.1|terminat|timeout|5\d{4}/i);
}

async function expectReady(instance: AppInstance, ready: boolean): Promise<void> {
  const response = await instance.request("/health/ready");
  const body = response.body;
  const [status, said, postgres] = ready ? [200, "ready", "up"] : [503, "not_ready", "down"];
  expect({ status: response.status, body }).toMatchObject({
    status,
    body: { status: said, dependencies: { postgres: { status: postgres } } },
  });
}

/** Health results are cached for a moment. */
const untilReady = (instance: AppInstance, ready = true): Promise<void> =>
  eventually(() => expectReady(instance, ready));

describe("503 with Retry-After while PostgreSQL is unreachable", () => {
  let proxy: FaultProxy;
  let instance: AppInstance;

  beforeAll(async () => {
    proxy = await startFaultProxy(app.databaseUrl);
    instance = await startAppInstance(proxy.url);
    expectData(await listJobs(instance, agent));
  });
  afterAll(async () => {
    await instance[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });

  const everyCall = (): Promise<ApiResponse[]> =>
    Promise.all([
      listJobs(instance, agent),
      getJob(instance, agent, number),
      patchJob(instance, agent, number, { weight: 1 }),
      patchJob(instance, { ...agent, query: "dry_run=true" }, number, { weight: 1 }),
      patchJob(instance, { ...agent, headers: { "idempotency-key": "away" } }, number, { weight: 1 }),
      patchBatch(instance, agent, [{ marking_number: number, weight: 1 }]),
      instance.call("/v1/events", { key: agent.key }),
      instance.call("/v1/reference/statuses", { key: agent.key }),
    ]);

  // evidence: postgres-unreachable-503
  it("for every call, while live but not ready, until PostgreSQL is back", async () => {
    proxy.disconnect();
    for (let round = 0; round < 3; round += 1)
      for (const response of await everyCall()) expectUnavailable(response);
    await untilReady(instance, false);
    expect((await instance.request("/health/live")).status).toBe(200);
    expectFailure(await instance.call("/v1/nothing"), 404);

    proxy.restore();
    await eventually(async () => expectData(await listJobs(instance, agent)));
    await untilReady(instance);
    for (const response of await everyCall()) expectData(response);
  });

  it("for a request whose connection breaks, though its statement may still be applied", async () => {
    const [own = ""] = await app.createJobs(agent, [{}]);
    const lock = await lockJobRow(app.database, own);
    const patched = patchJob(instance, agent, own, { weight: 2 });
    const dry = patchJob(instance, { ...agent, query: "dry_run=true" }, own, { weight: 2 });
    await lock.waitForBlockedSessions(2);
    proxy.disconnect();
    expectUnavailable(await patched);
    expectUnavailable(await dry);
    proxy.restore();
    await lock.release();
    await eventually(async () => expectData(await getJob(instance, agent, own)));
    // PostgreSQL notices a lost client only when it answers, so the change that waited for the lock is applied.
    await expect.poll(async () => expectData(await getJob(app, agent, own)).weight).toBe(2);
  });

  // evidence: ended-session-rolls-back
  it("when PostgreSQL ends the sessions, and the next request succeeds", async () => {
    const [own = ""] = await app.createJobs(agent, [{}]);
    const lock = await lockJobRow(app.database, own);
    const patched = patchJob(instance, agent, own, { weight: 2 });
    await lock.waitForBlockedSessions();
    await app.database.query(sql`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    expectUnavailable(await patched);
    await lock.release();
    expect(expectData(await getJob(app, agent, own)).weight).toBeNull();
    await eventually(async () => expectData(await patchJob(instance, agent, own, { weight: 2 })));
  });

  it("within seconds when it hangs without closing connections, until it responds again", async () => {
    expectData(await listJobs(instance, agent));
    proxy.stall();
    for (const response of await everyCall()) expectUnavailable(response);
    await untilReady(instance, false);
    proxy.restore();
    await eventually(async () => expectData(await listJobs(instance, agent)));
    await untilReady(instance);
  });
});
