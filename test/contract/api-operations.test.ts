import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/core/cursor.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { startAppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectProblems } from "../support/app/assertions.ts";
import { contract, type Operation } from "../support/app/openapi-contract.ts";
import { createFakeClock, DAY_MS } from "../support/fake-clock.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

/** A request. Fields of an invalid one default to those of the valid one. */
interface Sample {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

const NUMBER = "MN/2026 ü";
const one = `/v1/jobs/by-marking/${encodeURIComponent(NUMBER)}`;
const missing = "/v1/jobs/by-marking/missing-job";
const patch = { normalized_status: "failed", failure_reason: "wrong_incomplete_address" };
const batch = {
  jobs: [
    { marking_number: NUMBER, ...patch, id: "x" },
    { marking_number: "missing-job", weight: 1 },
  ],
};

/** A valid request of each operation, and requests for its specific errors. */
const samples: Record<
  string,
  { right: Sample & { status?: number }; wrong: Record<number, Partial<Sample>> }
> = {
  "GET /v1/jobs": {
    right: { path: "/v1/jobs?page_size=1&sort=-updated_at" },
    wrong: { 400: { path: "/v1/jobs?page=0&page_size=x&normalized_status=" } },
  },
  "PATCH /v1/jobs/batch": {
    right: { path: "/v1/jobs/batch", body: batch },
    wrong: { 400: { body: { jobs: [{}] } } },
  },
  "POST /v1/jobs/reschedule": {
    right: {
      path: "/v1/jobs/reschedule?dry_run=true",
      body: { jobs: [{ marking_number: NUMBER, if_version: 1 }], due_date: "2026-12-01", confirmed: true },
    },
    wrong: { 400: { body: { jobs: [{}], due_date: "tomorrow" } } },
  },
  "GET /v1/jobs/by-marking/{markingNumber}": {
    right: { path: one },
    wrong: {
      304: { headers: { "if-none-match": "*" } },
      400: { path: `/v1/jobs/by-marking/${"x".repeat(121)}` },
      404: { path: missing },
    },
  },
  "PATCH /v1/jobs/by-marking/{markingNumber}": {
    right: { path: one, body: { ...patch, id: "x" } },
    wrong: {
      400: { body: { weight: "1", scheduled_date: "2026-02-30" } },
      404: { path: missing },
      412: { headers: { "if-match": '"99"' } },
    },
  },
  "GET /v1/jobs/by-marking/{markingNumber}/history": {
    right: { path: `${one}/history` },
    wrong: { 400: { path: `${one}/history?page=0` }, 404: { path: `${missing}/history` } },
  },
  "GET /v1/events": {
    right: { path: "/v1/events?types=job.created,job.status_changed,job.assigned&page_size=2" },
    wrong: { 400: { path: "/v1/events?after=x" } },
  },
  "GET /v1/jobs/stats": {
    right: { path: "/v1/jobs/stats?group_by=normalized_status,agent_id&sums=weight,piece_quantity" },
    wrong: { 400: { path: "/v1/jobs/stats?group_by=status&sums=x&normalized_status=lost" } },
  },
  "POST /v1/jobs/lookup": {
    right: { path: "/v1/jobs/lookup", body: { marking_numbers: [NUMBER, "missing-job"] } },
    wrong: { 400: { body: { marking_numbers: [] } } },
  },
  "GET /v1/me": { right: { path: "/v1/me" }, wrong: {} },
  "GET /v1/requests": {
    right: { path: "/v1/requests?page_size=1" },
    wrong: { 400: { path: "/v1/requests?cursor=x" } },
  },
  "GET /v1/requests/{request_id}": {
    right: { path: "/v1/requests/REQUEST" },
    wrong: { 404: { path: "/v1/requests/unknown" } },
  },
  "GET /v1/api-keys": { right: { path: "/v1/api-keys" }, wrong: {} },
  "POST /v1/api-keys": {
    right: { path: "/v1/api-keys", body: { name: "new" }, status: 201 },
    wrong: { 400: { body: { name: 1, scopes: ["x"], cidrs: ["y"], scope: 1 } } },
  },
  "POST /v1/api-keys/{id}/rotate": {
    right: { path: "/v1/api-keys/KEY/rotate", body: { grace_hours: 1 }, status: 201 },
    wrong: { 400: { body: { grace_hours: 25 } }, 404: { path: "/v1/api-keys/unknown/rotate" } },
  },
  "DELETE /v1/api-keys/{id}": {
    right: { path: "/v1/api-keys/KEY" },
    wrong: {
      400: { path: "/v1/api-keys/KEY?include_created_keys=x" },
      404: { path: "/v1/api-keys/unknown" },
    },
  },
  "GET /v1/reference/statuses": { right: { path: "/v1/reference/statuses" }, wrong: {} },
  "GET /v1/reference/failure-reasons": { right: { path: "/v1/reference/failure-reasons" }, wrong: {} },
};
const names = Object.keys(samples);

/** test/api/refusals.test.ts causes them for every operation, the last two for every operation with an Idempotency-Key. */
const SHARED_REFUSALS = [401, 403, 413, 415, 429, 503];
const KEYED_REFUSALS = [409, 422];

let app: TestApp;
let agent: TestOrganization;
let contractor: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ RATE_LIMITS: "on" });
  // The document describes the headers of the limits; the tests send more requests than the default limits allow.
  const ample = { perSecond: 1_000, burst: 1_000 };
  const rateLimits = { read: ample, write: ample, batch: ample };
  agent = await app.createOrganization("agent", { rateLimits });
  contractor = await app.createOrganization("contractor", { rateLimits });
  await app.createJobs(agent, [{ markingNumber: NUMBER, contractor, providerStatus: "DEX03" }, {}, {}]);
  for (const { key } of [agent, contractor]) loggedIds.set(key, await loggedRequest(key));
});
afterAll(() => app[Symbol.asyncDispose]());

/** The statuses that tests expect, by operation. */
const expectedStatuses = new Map(names.map((name) => [name, new Set<number>()]));

/** Records that a test expects the status of these operations. */
function expecting(status: number, operations: string[]): string[] {
  for (const name of operations) expectedStatuses.get(name)?.add(status);
  return operations;
}

/** Replaces KEY by the id of a new key of the organisation, and REQUEST by the id of a logged request. */
async function withIds(path: string, key: string): Promise<string> {
  if (path.includes("REQUEST")) return path.replace("REQUEST", loggedIds.get(key) ?? "");
  if (!path.includes("KEY")) return path;
  const created = await app.call("/v1/api-keys", {
    method: "POST",
    key,
    body: JSON.stringify({ name: "x" }),
  });
  const id = (created.body.data as { api_key: { id: string } } | null)?.api_key.id;
  return path.replace("KEY", id ?? toTypedId("key", agent.id));
}

/** By API key. */
const loggedIds = new Map<string, string>();

async function loggedRequest(key: string): Promise<string> {
  const { body } = await app.call("/v1/me", { key });
  await eventually(async () => {
    expect((await app.call(`/v1/requests/${body.request_id}`, { key })).status).toBe(200);
  });
  return body.request_id;
}

async function send(
  api: Pick<TestApp, "call">,
  name: string,
  key: string,
  wrong: Partial<Sample> = {},
): Promise<ApiResponse> {
  const { path, body, headers } = { ...samples[name]!.right, ...wrong };
  const [method = ""] = name.split(" ");
  // Checks the response against the document.
  return await api.call(await withIds(path, key), {
    method,
    key,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: headers ?? {},
  });
}

describe("each operation matches the document", () => {
  const successful = names.map((name) => [name, samples[name]!.right.status ?? 200] as const);
  for (const [name, status] of successful) expecting(status, [name]);
  it.each(successful)("when it succeeds: %s → %i", async (name, status) => {
    for (const { key } of [agent, contractor]) expect((await send(app, name, key)).status).toBe(status);
  });

  const own = names.flatMap((name) =>
    Object.keys(samples[name]!.wrong).map((status) => [name, Number(status)] as const),
  );
  for (const [name, status] of own) expecting(status, [name]);
  it.each(own)("when it fails: %s → %i", async (name, status) => {
    expect((await send(app, name, agent.key, samples[name]!.wrong[status])).status).toBe(status);
  });
});

describe("400 for a malformed Idempotency-Key", () => {
  const keyed = names.filter((name) => name.startsWith("PATCH") || samples[name]!.right.status === 201);

  it.each(expecting(400, keyed))("%s", async (name) => {
    const response = await send(app, name, agent.key, { headers: { "idempotency-key": "two words" } });
    expectProblems(response, "header", ["Idempotency-Key"]);
  });
});

it.each(expecting(410, ["GET /v1/events"]))("410 for an expired cursor: %s", async (name) => {
  const clock = createFakeClock();
  await using later = await startAppInstance(app.databaseUrl, {}, { clock });
  clock.advance(31 * DAY_MS);
  const path = `/v1/events?after=${encodeCursor("events", ["0", "0"])}`;
  expect((await send(later, name, agent.key, { path })).status).toBe(410);
});

describe("500 after an unexpected error", () => {
  const tables = ["job", "job_event", "job_status", "failure_reason", "request_log"];
  beforeAll(async () => {
    for (const table of tables)
      await app.database.query(sql`alter table ${raw(table)} rename to ${raw(`${table}_gone`)}`);
    // Keys can still be verified.
    await app.database.query(raw("alter table api_key rename column created_by to created_by_gone"));
  });
  afterAll(async () => {
    for (const table of tables)
      await app.database.query(sql`alter table ${raw(`${table}_gone`)} rename to ${raw(table)}`);
    await app.database.query(raw("alter table api_key rename column created_by_gone to created_by"));
  });

  // evidence: internal-error-response-generic
  it.each(expecting(500, names))(
    "the response matches the document and hides the cause: %s",
    async (name) => {
      expect((await send(app, name, agent.key)).status).toBe(500);
    },
  );
});

describe("the document", () => {
  it.each(names)("declares only statuses that a test here expects: %s", (name) => {
    const [method = "", path = ""] = name.split(" ");
    const item = contract.paths[path] as Record<string, Operation>;
    const { parameters, responses } = item[method.toLowerCase()]!;
    const isKeyed = parameters?.some((parameter) => parameter.name === "Idempotency-Key");
    const shared = new Set([...SHARED_REFUSALS, ...(isKeyed ? KEYED_REFUSALS : [])]);
    const own = new Set(Object.keys(responses).map(Number)).difference(shared);
    expect(expectedStatuses.get(name)?.difference(shared)).toEqual(own);
  });

  it("has only operations under /v1 that were called here", () => {
    const described = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // webhook-operations.test.ts and api/test-mode call the others.
    const expected = described.filter((name) => / \/v1\/(?!webhook-|test\/)/.test(name));
    expect(names.toSorted()).toEqual(expected.toSorted());
  });
});
