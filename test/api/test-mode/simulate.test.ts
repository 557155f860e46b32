/** Failures that a test key simulates with the header X-Waymark-Simulate. */
import type { Test } from "supertest";
import { afterAll, describe, expect, it } from "vitest";
import { generateKey } from "../../../src/api-keys/format.ts";
import type { NewKey } from "../../../src/api-keys/changes.ts";
import { scopes } from "../../../src/api-keys/api.ts";
import { MAX_SLOW_REQUESTS } from "../../../src/api/simulate.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { simulatedStatuses } from "../../../src/test-mode/api.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import {
  startAppInstance,
  toApiResponse,
  type ApiResponse,
  type AppInstance,
  type RequestOptions,
} from "../../support/app/app-instance.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { documentedRequests } from "../../support/app/documented-requests.ts";
import { snapshotOf } from "../../support/app/organization-snapshot.ts";
import { eventually } from "../../support/eventually.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { createFakeClock, DAY_MS } from "../../support/fake-clock.ts";

type Line = Record<string, unknown>;

const limitsOf = (limit: { perSecond: number; burst: number }) => ({
  read: limit,
  write: limit,
  batch: limit,
});

const lines: Line[] = [];
const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
const app = await startTestApp({ RATE_LIMITS: "on" }, { logger: createLogger("info", stream) });
afterAll(() => app[Symbol.asyncDispose]());
const agent = await app.createOrganization("agent");
/** A test key of `agent`, with limits that no test reaches. */
const key = await createKey({ rateLimits: limitsOf({ perSecond: 10_000, burst: 10_000 }) });

function createKey(options: Partial<NewKey> = {}, partner = agent): Promise<string> {
  return app.createKey(partner.id, { testSide: "agent", scopes, ...options });
}

const simulate = (value: string, path: string, { headers = {}, ...options }: RequestOptions = {}): Test =>
  app.request(path, { key, ...options, headers: { ...headers, "X-Waymark-Simulate": value } });
const send = async (...request: Parameters<typeof simulate>): Promise<ApiResponse> =>
  toApiResponse(await simulate(...request));

async function createJob(): Promise<{ path: string; version: number }> {
  const response = await app.call("/v1/test/jobs", { method: "POST", key });
  const [job] = (response.body.data as { items: { marking_number: string; version: number }[] }).items;
  return { path: `/v1/jobs/by-marking/${job?.marking_number}`, version: job?.version ?? 0 };
}

/** All headers without those that differ from one answer to the next, and the error. */
function comparable({ status, headers, body }: ApiResponse) {
  const { "x-request-id": _id, date: _date, ...rest } = Object.fromEntries(headers);
  return { status, headers: rest, error: body.error };
}

/** The same without numbers, which depend on the time. */
const withoutNumbers = (response: ApiResponse): unknown =>
  JSON.parse(JSON.stringify(comparable(response)).replaceAll(/\d+(?:\.\d+)?/g, "0"));

/** The entry of the request log, over REST. */
const logEntry = (requestId: string): Promise<Line> =>
  eventually(async () => expectData(await app.call(`/v1/requests/${requestId}`, { key })) as Line);

/** What the log line of the server says. */
const simulatedIn = ({ body }: ApiResponse): Promise<unknown> =>
  eventually(() => {
    const line = lines.find((each) => each["request_id"] === body.request_id);
    expect(line).toBeDefined();
    return line?.["simulated"];
  });

/** The only entry of the request log with this path and simulation. */
function entryOf(path: string, simulated: string): Promise<Line> {
  return eventually(async () => {
    const { items } = expectData(await app.call("/v1/requests?page_size=100", { key })) as { items: Line[] };
    const entries = items.filter((each) => each["path"] === path && each["simulated"] === simulated);
    expect(entries).toHaveLength(1);
    return entries[0] as Line;
  });
}

async function metric(api: AppInstance, name: string): Promise<number> {
  const line = (await api.request("/metrics")).text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
}

/** Waits until `count` requests are in flight besides the one that reads the metric. */
const waitUntilInFlight = (api: AppInstance, count: number): Promise<void> =>
  eventually(async () => expect(await metric(api, "waymark_http_requests_in_flight")).toBe(count + 1));

describe("a simulated status", () => {
  it.each(simulatedStatuses)("%s: on every operation, in the envelope", async (value) => {
    for (const { method, path, body } of documentedRequests) {
      const response = await send(value, path, { method, ...(body !== null && { body }) });
      const error = expectFailure(response, Number(value));
      expect(error).toMatchObject({ doc_url: expect.stringContaining(`-${value}`) });
    }
  });

  it("changes nothing, and stores no response for the Idempotency-Key", async () => {
    const { path } = await createJob();
    const organizations = await app.database.query<{ id: string }>(
      sql`select id from organization where live_organization_id = ${agent.id}::uuid`,
    );
    const state = async () => [
      await Promise.all(organizations.map(({ id }) => snapshotOf(app.database, id))),
      await app.database.query(raw("select count(*)::int from idempotency_record")),
    ];
    const before = await state();
    const options = { method: "PATCH", body: '{"weight":5}', headers: { "Idempotency-Key": "simulated" } };
    for (const value of simulatedStatuses) await send(value, path, options);
    await expect(simulate("cut", path, options)).rejects.toThrow("socket hang up");
    expect(await state()).toEqual(before);
    const { status, headers } = await app.call(path, { key, ...options });
    expect([status, headers.has("idempotency-replayed")]).toEqual([200, false]);
  });

  it.each([
    ["401", "an unknown key", () => generateKey().text],
    ["403", "a key that is used elsewhere", () => createKey({ cidrs: ["203.0.113.0/24"] })],
  ])("%s: has the headers and the error of %s", async (value, _whose, refusedKey) => {
    const real = await app.call("/v1/jobs", { key: await refusedKey() });
    expect(comparable(await send(value, "/v1/jobs"))).toEqual(comparable(real));
  });

  it("412: has the headers and the error of a job that another request changed", async () => {
    const { path, version } = await createJob();
    const outdated = { method: "PATCH", body: '{"weight":5}', headers: { "If-Match": `"${version - 1}"` } };
    const real = await app.call(path, { key, ...outdated });
    const simulated = await send("412", path, outdated);
    expect(real.status).toBe(412);
    expect(simulated.body.error).toEqual(real.body.error);
    expect(withoutNumbers(simulated)).toEqual(withoutNumbers(real));
  });

  it("429: has the headers and the error of a key at its limit", async () => {
    const limited = { rateLimits: limitsOf({ perSecond: 0.0001, burst: 1 }) };
    const [first, second] = [await createKey(limited), await createKey(limited)];
    await app.call("/v1/me", { key: first });
    const real = await app.call("/v1/me", { key: first });
    const simulated = await send("429", "/v1/me", { key: second });
    expect(withoutNumbers(simulated)).toEqual(withoutNumbers(real));
    expect(simulated.headers.get("ratelimit")).toMatch(/^"read";r=0;t=10000, "read-organization";r=[1-9]/);
    expect(Number(simulated.headers.get("retry-after"))).toBeGreaterThan(9_000);
  });

  it("503: has Retry-After and the RateLimit headers", async () => {
    const response = await send("503", "/v1/jobs");
    expectFailure(response, 503, "The database is unreachable. Try again shortly.");
    expect(response.headers.get("retry-after")).toBe("2");
    expect(response.headers.get("ratelimit")).toMatch(/^"read";r=/);
  });
});

describe("the header", () => {
  it.each(["", "404", "503, 503", "slow:30001", "\u00e9"])("400: %j", async (value) => {
    const response = await send(value, "/v1/jobs");
    expect(expectFailure(response, 400)).toMatchObject({
      details: [{ location: "header", field: "X-Waymark-Simulate", code: "invalid_value" }],
    });
    expect(await simulatedIn(response)).toBeUndefined();
  });

  it.each(["500", "cut", "slow:30000", "nonsense"])("%s: has no effect with a live key", async (value) => {
    const response = await send(value, "/v1/jobs", { key: agent.key });
    expectData(response);
    expect(await simulatedIn(response)).toBeUndefined();
  });

  it("comes after authentication and scopes", async () => {
    const unknown = await send("503", "/v1/jobs", { key: generateKey().text });
    expectFailure(unknown, 401);
    const reader = await createKey({ scopes: ["jobs:read"] });
    expectFailure(await send("503", "/v1/webhook-endpoints", { key: reader }), 403, /lacks the scope/);
  });

  it.each(["503", "cut", "slow:30000", "nonsense"])("%s: counts against the rate limit", async (value) => {
    const limited = await createKey({ rateLimits: limitsOf({ perSecond: 0.0001, burst: 1 }) });
    expectFailure(await send("500", "/v1/jobs", { key: limited }), 500);
    const response = await send(value, "/v1/jobs", { key: limited });
    expectFailure(response, 429);
    expect(await simulatedIn(response)).toBeUndefined();
  });
});

it("is in the request log with the status and the error", async () => {
  const { body } = await send("503", "/v1/jobs");
  expect(await logEntry(body.request_id)).toMatchObject({
    status: 503,
    error_code: "ServiceUnavailableException",
    response_body: expect.stringContaining("The database is unreachable"),
    simulated: "503",
  });
});

describe("cut", () => {
  it("closes the connection without an answer, and is in the request log", async () => {
    const { path } = await createJob();
    await expect(simulate("cut", path)).rejects.toThrow("socket hang up");
    expect(await entryOf(path, "cut")).toMatchObject({ method: "GET", status: 499, error_code: null });
  });
});

/** Returns the weight and the version of a job. */
async function weightOf(path: string): Promise<[weight: unknown, etag: string | null]> {
  const { body, headers } = await app.call(path, { key });
  return [(body.data as { weight: unknown }).weight, headers.get("etag")];
}

describe("cut_after", () => {
  const change = { method: "PATCH", body: '{"weight":5}', headers: { "Idempotency-Key": "lost-answer" } };

  it("applies the request and closes the connection; repeating it with its Idempotency-Key returns the lost answer", async () => {
    const { path, version } = await createJob();
    await expect(simulate("cut_after", path, change)).rejects.toThrow("socket hang up");
    expect(await weightOf(path)).toEqual([5, `"${version + 1}"`]);
    expect(await entryOf(path, "cut_after")).toMatchObject({ method: "PATCH", status: 499 });
    const repeated = await app.call(path, { key, ...change });
    expect(expectData(repeated)).toMatchObject({ weight: 5, version: version + 1 });
    expect(repeated.headers.get("idempotency-replayed")).toBe("true");
    expect(await weightOf(path)).toEqual([5, `"${version + 1}"`]);
  });

  it("loses the answer of an error too", async () => {
    const { path, version } = await createJob();
    const invalid = { method: "PATCH", body: '{"weight":"heavy"}' };
    await expect(simulate("cut_after", path, invalid)).rejects.toThrow("socket hang up");
    expect(await weightOf(path)).toEqual([null, `"${version}"`]);
    expect(await entryOf(path, "cut_after")).toMatchObject({ error_code: "BadRequestException" });
  });
});

describe("410", () => {
  it("has the headers and the error of an expired cursor, on the events feed", async () => {
    const partner = await app.createOrganization("agent");
    const owner = await createKey({}, partner);
    await app.call("/v1/test/jobs", { key: owner, method: "POST", body: '{"count":2}' });
    await waitUntilFeedIsComplete(app.database);
    const page = await app.call("/v1/events?page_size=1", { key: owner });
    const { next_cursor: cursor } = page.body.data as { next_cursor: string };
    await using later = await startAppInstance(
      app.databaseUrl,
      {},
      { clock: createFakeClock(Date.now() + 31 * DAY_MS) },
    );
    const url = `/v1/events?after=${cursor}`;
    const real = await later.call(url, { key: owner });
    expect(real.status).toBe(410);
    const headers = { "X-Waymark-Simulate": "410" };
    const simulated = await later.call(url, { key: owner, headers });
    expect(comparable(simulated)).toEqual(comparable(real));
    expect(simulated.body.error?.details).toEqual({ oldest_cursor: expect.stringMatching(/^\w+$/) });
    const other = await later.call("/v1/events", { key: owner, headers });
    expect(other.body.error).toEqual(real.body.error);
  });

  it.each([
    ["another route", "/v1/jobs", {}],
    ["GraphQL", "/graphql", { method: "POST", body: '{"query":"{ viewer { __typename } }"}' }],
  ])("returns 400 that names the feed: %s", async (_name, path, options) => {
    const response = await send("410", path, options);
    expect(response.status).toBe(400);
    expect(JSON.stringify(response.body)).toContain("410 works only with GET /v1/events");
  });
});

describe("slow", () => {
  it("waits, then handles the request", async () => {
    const { path, version } = await createJob();
    const response = await send("slow:50", path, { method: "PATCH", body: '{"weight":5}' });
    expect(expectData(response)).toMatchObject({ weight: 5 });
    expect(response.headers.get("etag")).toBe(`"${version + 1}"`);
    const entry = await logEntry(response.body.request_id);
    expect(entry).toMatchObject({ status: 200, simulated: "slow:50" });
    // A timer can fire a millisecond early.
    expect(entry["duration_ms"]).toBeGreaterThanOrEqual(49);
  });

  it("does not handle the request if the client disconnects first", async () => {
    const { path, version } = await createJob();
    const request = simulate("slow:30000", path, { method: "PATCH", body: '{"weight":5}' });
    request.end(() => undefined);
    await waitUntilInFlight(app, 1);
    request.abort();
    expect(await entryOf(path, "slow:30000")).toMatchObject({ status: 499 });
    expect((await app.call(path, { key })).headers.get("etag")).toBe(`"${version}"`);
  });

  it.each([
    ["REST", (path: string) => ({ path, method: "PATCH", body: '{"weight":5}' })],
    [
      "GraphQL",
      (path: string) => ({
        path: "/graphql",
        method: "POST",
        body: JSON.stringify({
          query:
            "mutation ($n: String!) { updateJob(input: { markingNumber: $n, patch: { weight: 5 } }) { job { id } } }",
          variables: { n: path.split("/").at(-1) },
        }),
      }),
    ],
  ])("401: does not handle the request of a key that is revoked meanwhile: %s", async (_name, requestFor) => {
    const { path: job, version } = await createJob();
    const revoked = await createKey();
    const { path, ...options } = requestFor(job);
    // Longer than the second after which every process rejects the key.
    const answer = simulate("slow:3000", path, { key: revoked, ...options }).then(({ status }) => status);
    await waitUntilInFlight(app, 1);
    await app.keys.revoke((await app.keys.find(revoked.slice(0, "wmk_test_12345678".length)))?.id ?? "");
    expect(await answer).toBe(401);
    expect((await app.call(job, { key })).headers.get("etag")).toBe(`"${version}"`);
  });

  it("ends when the server stops", async () => {
    const instance = await startAppInstance(app.databaseUrl);
    const stop = waitUntilInFlight(instance, 1).then(() => instance[Symbol.asyncDispose]());
    expectData(await instance.call("/v1/jobs", { key, headers: { "X-Waymark-Simulate": "slow:30000" } }));
    await stop;
  });

  // evidence: simulated-slow-requests-limited
  it("429: at most 20 wait for a partner, who hold no connection of the database and no place of other requests", async () => {
    await using instance = await startAppInstance(app.databaseUrl, {
      DATABASE_POOL_SIZE: "2",
      LOAD_SHEDDING: "on",
    });
    const headers = { "X-Waymark-Simulate": "slow:30000" };
    const waiting: ReturnType<AppInstance["request"]>[] = [];
    while (waiting.length < MAX_SLOW_REQUESTS) {
      const request = instance.request("/v1/jobs", { key, headers });
      request.end(() => undefined);
      waiting.push(request);
      // Until it waits, a request has a place, and four that last would be an overload.
      await waitUntilInFlight(instance, waiting.length);
    }
    await eventually(async () => expect(await metric(instance, "waymark_http_concurrency_in_use")).toBe(0));
    const contractorSide = await createKey({ testSide: "contractor" } as Partial<NewKey>);
    const refused = toApiResponse(await instance.request("/v1/jobs", { key: contractorSide, headers }));
    expectFailure(refused, 429, /^20 slow requests of this organisation are in flight/);
    expectData(await instance.call("/v1/jobs", { key }));
    const other = await app.createOrganization("agent");
    const otherHeaders = { "X-Waymark-Simulate": "slow:1" };
    expectData(await instance.call("/v1/jobs", { key: await createKey({}, other), headers: otherHeaders }));
    for (const request of waiting) request.abort();
    await waitUntilInFlight(instance, 0);
  });
});

describe("operators", () => {
  it("see simulated failures in a metric of their own, and no error in the log", async () => {
    const responses = [await send("500", "/v1/jobs"), await send("503", "/v1/me")];
    await Promise.all(responses.map(simulatedIn));
    const ids = new Set(responses.map(({ body }): unknown => body.request_id));
    const ofRequests = lines.filter((line) => ids.has(line["request_id"]));
    expect(ofRequests.map(({ level, status, simulated }) => [level, status, simulated])).toEqual([
      ["info", 500, "500"],
      ["info", 503, "503"],
    ]);
    const { text } = await app.request("/metrics");
    expect(text).toMatch(/waymark_http_requests_simulated_total\{simulation="500"\} [1-9]/);
    expect(text).not.toMatch(/waymark_http_request_duration_seconds_count\{[^}]*status="5/);
  });
});

const query = (value: string, options: RequestOptions = {}): Test =>
  simulate(value, "/graphql", {
    method: "POST",
    body: '{"query":"{ viewer { __typename } }"}',
    ...options,
  });

describe("GraphQL", () => {
  it.each(["409", "412", "nonsense"])("%s: returns 400 with the values of GraphQL", async (value) => {
    const { status, body } = await query(value);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("must be 401, 403, 429, 500, 503, cut, cut_after, or slow:");
  });

  it("cut, cut_after and slow: work as in REST, and are in the request log", async () => {
    for (const value of ["cut", "cut_after"]) await expect(query(value)).rejects.toThrow("socket hang up");
    expect((await query("slow:20")).body).toMatchObject({ data: { viewer: { __typename: "Viewer" } } });
    const log = '{"query":"{ requestLog(first: 100) { nodes { path status simulated } } }"}';
    await eventually(async () => {
      const { body } = await app.request("/graphql", { method: "POST", key, body: log });
      const { nodes } = (body as { data: { requestLog: { nodes: unknown[] } } }).data.requestLog;
      expect(nodes).toContainEqual({ path: "/graphql", status: 499, simulated: "cut" });
      expect(nodes).toContainEqual({ path: "/graphql", status: 499, simulated: "cut_after" });
      expect(nodes).toContainEqual({ path: "/graphql", status: 200, simulated: "slow:20" });
    });
  });
});
