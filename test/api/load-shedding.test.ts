import { request as httpRequest, type ClientRequest } from "node:http";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { listJobs } from "../support/app/job-client.ts";
import { openTransaction, type OpenTransaction } from "../support/database/blocked-sessions.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

const ORIGIN = "https://app.example.com";
const CONNECTIONS = 2;
/** The limit of a short burst: 20 requests per connection to PostgreSQL. */
const BURST = 20 * CONNECTIONS;
/** The limit during an overload: the smallest one. */
const SUSTAINED = 4;

let shared: SharedApp;
let app: AppInstance;
let agent: TestOrganization;
let number: string;
let partners: TestOrganization[];
let lock: OpenTransaction | null;
let responses: Promise<ApiResponse[]>;

beforeAll(async () => {
  shared = await sharedApp("api");
  partners = await Promise.all(Array.from({ length: BURST + 1 }, () => shared.createOrganization("agent")));
});

/** One server per test, because slow responses reduce its limit. */
beforeEach(async () => {
  lock = null;
  responses = Promise.resolve([]);
  app = await startAppInstance(shared.databaseUrl, {
    WAYMARK_ROLE: "api",
    LOAD_SHEDDING: "on",
    DATABASE_POOL_SIZE: String(CONNECTIONS),
    CORS_ORIGINS: ORIGIN,
  });
  agent = await shared.createOrganization("agent");
  [number = ""] = await shared.createJobs(agent, [{}]);
  // Caches the key.
  expectData(await listJobs(app, agent));
});
afterEach(async () => {
  await release();
  await app[Symbol.asyncDispose]();
});

async function metric(name: string): Promise<number> {
  const text = (await app.request("/metrics")).text;
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

const waitForMetric = (name: string, value: number): Promise<void> =>
  eventually(async () => expect(await metric(name)).toBe(value));

/**
 * Sends one request more than the server accepts, and resolves when requests are rejected: that one, or more on a machine that
 * needs over 300 ms for the burst. Each is of another partner, because requests that wait for their own partner don't count. Of
 * the others one waits for a locked table, the rest for it.
 */
async function fill(): Promise<void> {
  lock = await openTransaction(shared.database, sql`lock table job in access exclusive mode`);
  let rejected = 0;
  const sent = partners.map(async (partner) => {
    const response = await listJobs(app, partner);
    if (isRejection(response)) rejected += 1;
    return response;
  });
  responses = Promise.all(sent);
  await eventually(() => expect(rejected).toBeGreaterThan(0));
}

function isRejection({ status, body }: ApiResponse): boolean {
  return status === 503 && body.error?.message.includes("overloaded") === true;
}

async function release(): Promise<ApiResponse[]> {
  await lock?.commit();
  lock = null;
  return responses;
}

/** A request without its body yet, on its own connection. */
function begin(body: string): { request: ClientRequest; status: Promise<number> } {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = httpRequest(`${app.url}/v1/jobs/by-marking/${number}`, {
    method: "PATCH",
    agent: false,
    headers: {
      "x-api-key": agent.key,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    },
  });
  request.once("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  request.once("error", reject);
  request.flushHeaders();
  return { request, status: promise };
}

/** Returns the origin that may read the rejection of a request from `origin`. */
async function allowedFor(origin: string): Promise<string | null> {
  const { headers } = await app.request("/v1/jobs", { key: agent.key, headers: { origin } });
  expect(headers["vary"]).toContain("Origin");
  return headers["access-control-allow-origin"] ?? null;
}

it("slow clients don't use up capacity while they send, and get responses then", async () => {
  const body = JSON.stringify({ weight: 2 });
  const slow: ReturnType<typeof begin>[] = [];
  // Further ones at the same time could begin an overload on a slow machine.
  while (slow.length < BURST) {
    for (let count = 0; count < SUSTAINED; count += 1) slow.push(begin(body));
    // The request for the metrics counts too.
    await waitForMetric("waymark_http_requests_in_flight", slow.length + 1);
    await waitForMetric("waymark_http_concurrency_in_use", 0);
  }
  await eventually(async () => expectData(await listJobs(app, agent)));
  await waitForMetric("waymark_http_concurrency_in_use", 0);
  for (const { request } of slow) request.end(body);
  expect(await Promise.all(slow.map(({ status }) => status))).toEqual(slow.map(() => 200));
});

describe("503 with Retry-After at the limit of requests in flight", () => {
  it("is sent immediately for the next request, until requests finish", async () => {
    await fill();
    const rejected = await listJobs(app, agent);
    const error = expectFailure(rejected, 503);
    expect(error).toMatchObject({ code: "ServiceUnavailableException", details: null });
    expect(error.message).toContain("overloaded");
    expect(["1", "2", "3"]).toContain(rejected.headers.get("retry-after"));
    expect(rejected.headers.get("x-request-id")).toBe(rejected.body.request_id);
    expect(rejected.headers.get("cache-control")).toBe("no-store");
    const accepted = (await release()).filter((response) => !isRejection(response));
    expect(accepted.length).toBeGreaterThan(SUSTAINED);
    for (const response of accepted) expectData(response);
    expectData(await listJobs(app, agent));
  });

  it("is sent before key, body and route are checked", async () => {
    await fill();
    for (const response of [
      await app.call("/v1/jobs"),
      await app.call("/v1/jobs", { key: "wrong" }),
      await app.call("/v1/jobs/batch", { method: "PATCH", key: agent.key, body: "{" }),
      await app.call("/v1/nothing"),
    ])
      expectFailure(response, 503);
  });

  it.each([
    ["application/json", "application/json; charset=utf-8"],
    [
      "application/graphql-response+json, application/json;q=0.9",
      "application/graphql-response+json; charset=utf-8",
    ],
  ])(
    "has GraphQL's format below /graphql, in the client's preferred media type: %s",
    async (accept, type) => {
      await fill();
      const body = JSON.stringify({ query: "{ viewer { kind } }" });
      const options = { method: "POST", key: agent.key, body, headers: { accept } };
      const response = await app.request("/graphql", options);
      expect([response.status, response.get("content-type")]).toEqual([503, type]);
      expect(response.get("retry-after")).toMatch(/^[123]$/);
      expect(response.body).toMatchObject({
        errors: [{ extensions: { code: "SERVICE_UNAVAILABLE", requestId: response.get("x-request-id") } }],
      });
    },
  );

  it("is readable for pages of allowed origins only", async () => {
    await fill();
    expect(await allowedFor(ORIGIN)).toBe(ORIGIN);
    expect(await allowedFor("https://elsewhere.example.com")).toBeNull();
  });

  it("is never sent for health and metrics, which count rejections", async () => {
    const REFUSED = "waymark_http_requests_shed_total";
    await fill();
    for (let sent = 0; sent < 3; sent += 1) expectFailure(await listJobs(app, agent), 503);
    expect((await app.request("/health/live")).status).toBe(200);
    expect(await metric("waymark_http_concurrency_limit")).toBe(SUSTAINED);
    const rejected = (await release()).filter(isRejection);
    expect(await metric(REFUSED)).toBe(rejected.length + 3);
  });
});
