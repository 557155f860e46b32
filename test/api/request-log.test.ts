/** The request log of an organisation, as the console shows it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromTypedId, toTypedId } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { queryData, graphql, type GraphqlResponse } from "../support/graphql/client.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { listJobs, patchJob } from "../support/app/job-client.ts";
import { keyIdOf, startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let other: TestOrganization;
let operator: string;
let number: string;

beforeAll(async () => {
  app = await startTestApp();
  agent = await app.createOrganization("agent", { name: "first" });
  other = await app.createOrganization("agent");
  operator = await app.createKey(null);
  number = await app.createJob(agent);
});
afterAll(() => app[Symbol.asyncDispose]());

/** A query with one field that succeeds and one that fails. */
const REFUSED_IN_PART = `{ viewer { kind } webhookDeliveries(endpointId: "whe_00000000000000000000000000") { nodes { id } } }`;

interface Entry {
  requestId: string;
  at: string;
  method: string;
  path: string;
  status: number;
  durationMs: number;
  errorCode: string | null;
  keyId: string | null;
  keyName: string | null;
  requestBody: string | null;
  responseBody: string | null;
}

const FIELDS = "requestId at method path status durationMs errorCode keyId keyName requestBody responseBody";

async function entries(variables: Record<string, unknown>, key = agent.key): Promise<Entry[]> {
  const query = `query ($requestId: String, $status: RequestOutcome, $keyId: ID, $first: Int, $after: String) {
    requestLog(requestId: $requestId, status: $status, keyId: $keyId, first: $first, after: $after) { nodes { ${FIELDS} } } }`;
  return ((await queryData(app, query, { key, variables })) as { requestLog: { nodes: Entry[] } }).requestLog
    .nodes;
}

/** Waits for the log entry of a request and returns it. */
async function entryOf(requestId: string, key = agent.key): Promise<Entry> {
  await expect.poll(() => entries({ requestId }, key)).toHaveLength(1);
  return (await entries({ requestId }, key))[0] as Entry;
}

function requestIdOf({ headers }: { headers: Headers }): string {
  return headers.get("x-request-id") ?? "";
}

/** Waits until all earlier requests are written. */
async function settle(): Promise<void> {
  await entryOf((await listJobs(app, agent)).body.request_id);
}

it("a request that succeeded is logged with method, path, status and key, without query string and bodies", async () => {
  const before = Date.now();
  const { body } = await listJobs(app, { ...agent, query: "q=Someone" });
  const entry = await entryOf(body.request_id);
  expect(entry).toMatchObject({
    method: "GET",
    path: "/v1/jobs",
    status: 200,
    errorCode: null,
    keyId: toTypedId("key", await keyIdOf(app, agent)),
    keyName: "first",
    requestBody: null,
    responseBody: null,
  });
  expect(entry.durationMs).toBeGreaterThan(0);
  expect(Math.abs(Date.parse(entry.at) - before)).toBeLessThan(5_000);
});

describe("a request that failed", () => {
  it("is logged with both bodies, redacted", async () => {
    const { body } = await patchJob(app, agent, number, { weight: "heavy", recipient_name: "A Person" });
    const entry = await entryOf(body.request_id);
    expect(entry).toMatchObject({ method: "PATCH", status: 400, errorCode: "BadRequestException" });
    expect(entry.path).toBe(`/v1/jobs/by-marking/${number}`);
    expect(JSON.parse(entry.requestBody ?? "")).toEqual({ weight: "heavy", recipient_name: "***" });
    expect(JSON.parse(entry.responseBody ?? "")).toMatchObject({
      request_id: body.request_id,
      success: false,
      error: { code: "BadRequestException", details: [{ field: "weight" }] },
    });
  });

  it("is logged without a body that is not JSON", async () => {
    const answer = await app.call(`/v1/jobs/by-marking/${number}`, {
      method: "PATCH",
      key: agent.key,
      body: '{"recipient_name": "A Person',
    });
    expect(await entryOf(answer.body.request_id)).toMatchObject({ status: 400, requestBody: null });
  });

  // evidence: request-log-missing-scope
  it("is logged when the key lacks the scope", async () => {
    const key = await app.createKey(agent.id, { name: "reader", scopes: ["jobs:read"] });
    const { body } = await patchJob(app, { key }, number, { weight: 1 });
    expect(await entryOf(body.request_id)).toMatchObject({
      status: 403,
      errorCode: "ForbiddenException",
      keyName: "reader",
    });
  });
});

describe("GraphQL", () => {
  it("logs the error code also for status 200", async () => {
    const answer = await graphql(app, REFUSED_IN_PART, {
      key: agent.key,
    });
    expect(answer.status).toBe(200);
    const entry = await entryOf(requestIdOf(answer));
    expect(entry).toMatchObject({ method: "POST", path: "/graphql", status: 200, requestBody: null });
    expect(entry.errorCode).toBe("BAD_USER_INPUT");
  });

  it("logs the shape of a rejected query without its values", async () => {
    const query = `query ($name: Int!) { jobs(first: 1, query: "A Person") { nope } }`;
    const answer = await graphql(app, query, { key: agent.key, variables: { name: "A Person" } });
    expect(answer.status).toBe(400);
    const entry = await entryOf(requestIdOf(answer));
    expect(entry.errorCode).toBe(answer.errors?.[0]?.extensions.code);
    expect(entry.requestBody).toContain("nope");
    expect(entry.responseBody).toContain(entry.errorCode);
    expect(JSON.stringify(entry)).not.toContain("A Person");
  });

  it("logs a request that is rejected before its query is parsed", async () => {
    const answer: GraphqlResponse = await graphql(app, "{ viewer { kind } }", {
      key: agent.key,
      headers: { "content-type": "text/plain" },
    });
    expect(await entryOf(requestIdOf(answer))).toMatchObject({ status: answer.status, requestBody: null });
  });
});

it("a request without an organisation is not logged", async () => {
  const [{ count: before } = { count: 0 }] = await app.database.query<{ count: number }>(
    raw("select count(*)::int as count from request_log"),
  );
  await app.request("/health/live");
  await app.request("/openapi.json", { key: agent.key });
  await app.call("/v1/jobs", { key: "wmk_wrong" });
  await app.call("/v1/jobs", { key: operator });
  await graphql(app, "{ viewer { kind } }", { key: operator });
  await settle();
  const [row] = await app.database.query<{ paths: string[] }>(sql`
    select array_agg(path) as paths from (select path from request_log order by id desc
      limit (select count(*) - ${before}::int from request_log)) as new`);
  expect(new Set(row?.paths)).toEqual(new Set(["/v1/jobs", "/graphql"]));
  const outsiders = await app.database.query(sql`
    select from request_log where organization_id not in (select id from organization) or status = 401`);
  expect(outsiders).toEqual([]);
});

describe("access to the log", () => {
  // evidence: request-log-isolated-per-organization
  it("is limited to the organisation itself, with any filter", async () => {
    const { body } = await listJobs(app, agent);
    await entryOf(body.request_id);
    const keyId = toTypedId("key", await keyIdOf(app, agent));
    expect(await entries({ requestId: body.request_id }, other.key)).toEqual([]);
    expect(await entries({ keyId }, other.key)).toEqual([]);
    const all = await entries({ first: 100 }, other.key);
    expect(all.map(({ path }) => path).filter((path) => path !== "/graphql")).toEqual([]);
    const { usage } = (await queryData(app, "{ usage { keyId } }", { key: other.key })) as {
      usage: { keyId: string }[];
    };
    expect(usage.map((row) => row.keyId)).not.toContain(keyId);
  });

  it("requires webhooks:manage of an operator", async () => {
    const reader = await app.createKey(null, { scopes: ["jobs:read"] });
    const query = `{ requestLog(requestId: "req_00000000000000000000000000") { nodes { path } } }`;
    expect((await graphql(app, query, { key: reader })).errors?.[0]?.extensions.code).toBe("FORBIDDEN");
  });

  it("hides bodies and the Marking Numbers of paths from a key without jobs:read", async () => {
    const { body } = await patchJob(app, agent, number, { weight: "heavy" });
    const text = await app.createKey(agent.id, { scopes: ["jobs:write", "webhooks:manage", "keys:manage"] });
    expect((await entryOf(body.request_id)).path).toBe(`/v1/jobs/by-marking/${number}`);
    expect(await entryOf(body.request_id, text)).toMatchObject({
      path: "/v1/jobs/by-marking/***",
      status: 400,
      requestBody: null,
      responseBody: null,
    });
    const path = `/v1/test/jobs/by-marking/${number}/run`;
    const id = fromTypedId("req", body.request_id);
    await app.database.query(sql`update request_log set path = ${path} where id = ${id}`);
    expect((await entryOf(body.request_id)).path).toBe(path);
    expect((await entryOf(body.request_id, text)).path).toBe("/v1/test/jobs/by-marking/***/run");
  });

  it("lets an operator find any request, only by its id", async () => {
    const { body } = await listJobs(app, agent);
    expect(await entryOf(body.request_id, operator)).toMatchObject({ path: "/v1/jobs" });
    const { errors } = await graphql(app, "{ requestLog { nodes { path } } }", { key: operator });
    expect(errors?.[0]).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", problems: [{ field: "requestId" }] },
    });
    expect(await entries({ requestId: toTypedId("req", agent.id) }, operator)).toEqual([]);
  });
});

it("usage counts an organisation's requests by day and key", async () => {
  const partner = await app.createOrganization("agent");
  await listJobs(app, partner);
  await listJobs(app, partner);
  const { body } = await patchJob(app, partner, "nowhere", { weight: 1 });
  const text = await app.createKey(partner.id, { name: "reader" });
  await entryOf(body.request_id, text);
  const query = "{ usage(days: 1) { day keyId keyName succeeded refused failed meanDurationMs } }";
  interface Usage {
    usage: { keyName: string; day: string; meanDurationMs: number }[];
  }
  const { usage } = (await queryData(app, query, { key: text })) as Usage;
  const row = usage.find(({ keyName }) => keyName === "test");
  expect(row).toMatchObject({ succeeded: 2, refused: 1, failed: 0 });
  expect(row?.day).toBe(new Date().toISOString().slice(0, 10));
  expect(row?.meanDurationMs).toBeGreaterThan(0);
  for (const days of [0, 31]) {
    const { errors } = await graphql(app, `{ usage(days: ${days}) { day } }`, { key: text });
    expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  }
});

it("a server stop writes every answered request first", async () => {
  const instance = await startAppInstance(app.databaseUrl);
  const answers = await Promise.all(Array.from({ length: 20 }, () => listJobs(instance, agent)));
  await instance[Symbol.asyncDispose]();
  const ids = answers.map(({ body }) => body.request_id);
  const found = (await entries({ first: 100 })).map(({ requestId }) => requestId);
  expect(found).toEqual(expect.arrayContaining(ids));
});
