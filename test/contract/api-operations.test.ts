/** The REST operations under /v1: each documented status matches the document, and isolation of webhooks between organisations. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/core/cursor.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { startAppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectFailure, expectProblems } from "../support/app/assertions.ts";
import { contract, type Operation } from "../support/app/openapi-contract.ts";
import { snapshotOf } from "../support/app/organization-snapshot.ts";
import { createFakeClock, DAY_MS } from "../support/fake-clock.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { setUpWebhooks } from "../support/webhooks/webhook-parity.fixture.ts";

/** A request. Members of an invalid one default to those of the valid one. */
interface Request {
  /** Default: the template of the operation, with an ID of the caller. */
  path?: string;
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

interface Sample extends Request {
  status?: number;
  /** Requests for the specific errors of the operation. The fields are those of the problems in the error. */
  wrong?: (Request & { status: number; fields?: string[] })[];
}

const NUMBER = "MN/2026 ü";
const JOB = "/v1/jobs/by-marking/{markingNumber}";
const ENDPOINT = "/v1/webhook-endpoints/{id}";
const CLOSED_URL = "http://127.0.0.1:9/webhooks";
const patch = { normalized_status: "failed", failure_reason: "wrong_incomplete_address" };
const batch = {
  jobs: [
    { marking_number: NUMBER, ...patch, id: "x" },
    { marking_number: "missing-job", weight: 1 },
  ],
};
const manySettings = {
  url: "ftp://partner.example",
  description: 5,
  event_types: ["job.create"],
  headers: [{ name: "X-A", value: "1" }, { name: "X-A", value: "1" }, { name: "X-B" }],
  max_in_flight: 1.5,
  per_second: 0,
};

const samples: Record<string, Sample> = {
  "GET /v1/jobs": {
    query: "?page_size=1&sort=-updated_at",
    wrong: [{ status: 400, query: "?page=0&page_size=x&normalized_status=" }],
  },
  "PATCH /v1/jobs/batch": { body: batch },
  "POST /v1/jobs/reschedule": {
    query: "?dry_run=true",
    body: { jobs: [{ marking_number: NUMBER, if_version: 1 }], due_date: "2026-12-01", confirmed: true },
  },
  [`GET ${JOB}`]: {
    wrong: [
      { status: 304, headers: { "if-none-match": "*" } },
      { status: 400, path: `/v1/jobs/by-marking/${"x".repeat(121)}` },
    ],
  },
  [`PATCH ${JOB}`]: {
    body: { ...patch, id: "x" },
    wrong: [{ status: 412, headers: { "if-match": '"99"' } }],
  },
  [`GET ${JOB}/history`]: { wrong: [{ status: 400, query: "?page=0" }] },
  "GET /v1/events": {
    query: "?types=job.created,job.status_changed,job.assigned&page_size=2",
    wrong: [{ status: 400, query: "?after=x" }],
  },
  "GET /v1/jobs/stats": {
    query: "?group_by=normalized_status,agent_id&sums=weight,piece_quantity",
    wrong: [{ status: 400, query: "?group_by=status&sums=x&normalized_status=lost" }],
  },
  "POST /v1/jobs/lookup": {
    body: { marking_numbers: [NUMBER, "missing-job"] },
  },
  "GET /v1/me": {},
  "GET /v1/requests": { query: "?page_size=1", wrong: [{ status: 400, query: "?cursor=x" }] },
  "GET /v1/requests/{request_id}": {},
  "GET /v1/api-keys": {},
  "POST /v1/api-keys": {
    body: { name: "new" },
    status: 201,
    wrong: [{ status: 400, body: { name: 1, scopes: ["x"], cidrs: ["y"], scope: 1 } }],
  },
  "POST /v1/api-keys/{id}/rotate": {
    body: { grace_hours: 1 },
    status: 201,
    wrong: [{ status: 400, body: { grace_hours: 25 } }],
  },
  "DELETE /v1/api-keys/{id}": { wrong: [{ status: 400, query: "?include_created_keys=x" }] },
  "GET /v1/reference/statuses": {},
  "GET /v1/reference/failure-reasons": {},
  "GET /v1/webhook-endpoints": {},
  "POST /v1/webhook-endpoints": {
    body: { url: CLOSED_URL },
    status: 201,
    wrong: [
      {
        status: 400,
        body: manySettings,
        fields: ["url", "description", "event_types[0]", "headers[2].value", "max_in_flight", "per_second"],
      },
    ],
  },
  [`GET ${ENDPOINT}`]: {},
  [`PATCH ${ENDPOINT}`]: {
    body: { description: "changed" },
    wrong: [
      {
        status: 400,
        body: { url: null, max_in_flight: null, per_second: null },
        fields: ["url", "max_in_flight", "per_second"],
      },
    ],
  },
  [`DELETE ${ENDPOINT}`]: {},
  [`POST ${ENDPOINT}/rotate-secret`]: {},
  [`POST ${ENDPOINT}/pause`]: {},
  [`POST ${ENDPOINT}/resume`]: {
    body: { pending: "send" },
    wrong: [{ status: 400, body: { pending: "discard", since: "2026-11-21T08:00:00Z" }, fields: ["since"] }],
  },
  [`POST ${ENDPOINT}/retry`]: {},
  [`POST ${ENDPOINT}/test`]: { status: 201 },
  [`POST ${ENDPOINT}/replay`]: { body: { which: "failed" } },
  [`GET ${ENDPOINT}/attempts`]: {},
  "GET /v1/webhook-deliveries": {
    wrong: [
      {
        status: 400,
        query: "?status=lost&event_type=x&since=today&until=1&page_size=0&cursor=x&marking_number=",
        fields: ["status", "event_type", "since", "until", "page_size", "cursor", "marking_number"],
      },
      { status: 400, query: "?since=2026-11-22T08:00:00Z&until=2026-11-22T08:00:00Z", fields: ["until"] },
      { status: 404, query: "?endpoint_id=whe_nonsense" },
    ],
  },
  "GET /v1/webhook-deliveries/{id}": {},
  "POST /v1/webhook-deliveries/{id}/replay": { status: 201 },
  "POST /v1/webhook-deliveries/replay": {
    body: { ids: ["dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK"] },
    wrong: [{ status: 400, body: { ids: Array.from({ length: 101 }, String) }, fields: ["ids"] }],
  },
};
const names = Object.keys(samples);
const ofWebhooks = (name: string): boolean => name.includes(" /v1/webhook-");
const withId = names.filter((name) => name.includes("{"));

function operationOf(name: string): Operation {
  const [method = "", path = ""] = name.split(" ");
  return (contract.paths[path] as Record<string, Operation>)[method.toLowerCase()]!;
}

const keyed = names.filter((name) =>
  operationOf(name).parameters?.some((parameter) => parameter.name === "Idempotency-Key"),
);

/** test/api/refusals.test.ts causes them for every operation, and the next two for every operation with an Idempotency-Key. */
const SHARED_REFUSALS = [401, 403, 413, 415, 429, 503];
const KEYED_REFUSALS = [409, 422];
/** test/api/operations.test.ts causes it for every operation that changes something. */
const CHANGE_REFUSALS = [400];

let app: TestApp;
let agent: TestOrganization;
let contractor: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ RATE_LIMITS: "on", WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" });
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

/** By API key. */
const loggedIds = new Map<string, string>();

async function loggedRequest(key: string): Promise<string> {
  const { body } = await app.call("/v1/me", { key });
  await eventually(async () => {
    expect((await app.call(`/v1/requests/${body.request_id}`, { key })).status).toBe(200);
  });
  return body.request_id;
}

/** The key of a request, and the ID in its path. */
interface Caller {
  key: string;
  id: string;
}

const newWebhooks = () => setUpWebhooks(app, { jobs: 1, finished: "failed", settings: { url: CLOSED_URL } });
type Webhooks = Awaited<ReturnType<typeof newWebhooks>>;

function callerOf(
  name: string,
  { key, endpoint, delivery }: Pick<Webhooks, "key" | "endpoint" | "delivery">,
) {
  return { key, id: name.includes("/webhook-deliveries") ? delivery : endpoint };
}

/** Returns a key, and the ID of a resource that the operation can read or change. Webhooks get a separate organisation. */
async function prepare(name: string, { id: organizationId, key } = agent): Promise<Caller> {
  if (ofWebhooks(name)) return callerOf(name, await newWebhooks());
  if (name.includes("{request_id}")) return { key, id: loggedIds.get(key) ?? "" };
  if (!name.includes("/api-keys/{id}")) return { key, id: encodeURIComponent(NUMBER) };
  const created = await app.keys.create({ organizationId, name: "x", createdBy: "test" });
  return { key, id: toTypedId("key", created.key.id) };
}

/** Checks the response against the document. */
async function send(
  name: string,
  { key, id }: Caller,
  change: Request = {},
  api: Pick<TestApp, "call"> = app,
): Promise<ApiResponse> {
  const [method = "", template = ""] = name.split(" ");
  const { path = template, query = "", body, headers = {} } = { ...samples[name], ...change };
  return await api.call(path.replace(/\{\w+\}/, id) + query, {
    method,
    key,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers,
  });
}

describe("each operation matches the document", () => {
  const successful = names.map((name) => [name, samples[name]!.status ?? 200] as const);
  for (const [name, status] of successful) expecting(status, [name]);
  it.each(successful)("when it succeeds: %s → %i", async (name, status) => {
    for (const organization of ofWebhooks(name) ? [agent] : [agent, contractor])
      expect((await send(name, await prepare(name, organization))).status).toBe(status);
  });

  const own = names.flatMap((name) =>
    (samples[name]!.wrong ?? []).map(({ status, ...change }) => [name, status, change] as const),
  );
  for (const [name, status] of own) expecting(status, [name]);
  it.each(own)("when it fails: %s → %i", async (name, status, { fields, ...change }) => {
    const response = await send(name, await prepare(name), change);
    expect(response.status).toBe(status);
    if (fields) expectProblems(response, change.query ? "query" : "body", fields);
  });

  const others = withId.filter((name) => !ofWebhooks(name));
  it.each(expecting(404, others))("when its object is unknown: %s → 404", async (name) => {
    expectFailure(await send(name, { key: agent.key, id: "unknown" }), 404);
  });

  it.each(expecting(400, keyed))("when its Idempotency-Key is malformed: %s → 400", async (name) => {
    const headers = { "idempotency-key": "two words" };
    expectProblems(await send(name, await prepare(name), { headers }), "header", ["Idempotency-Key"]);
  });

  it.each(expecting(410, ["GET /v1/events"]))("when its cursor has expired: %s → 410", async (name) => {
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, {}, { clock });
    clock.advance(31 * DAY_MS);
    const query = `?after=${encodeCursor("events", ["0", "0"])}`;
    expectFailure(await send(name, await prepare(name), { query }, later), 410);
  });

  it.each(expecting(409, [`POST ${ENDPOINT}/test`]))("when no secret can be read: %s → 409", async (name) => {
    const webhooks = await newWebhooks();
    await app.database.query(sql`
      update webhook_endpoint set secrets = jsonb_set(secrets, '{0,sealed}', '"damaged"') where id = ${webhooks.uuid}`);
    expectFailure(await send(name, callerOf(name, webhooks)), 409);
  });

  it.each(expecting(409, [`POST ${ENDPOINT}/retry`]))("when it is paused: %s → 409", async (name) => {
    const caller = await prepare(name);
    await send(`POST ${ENDPOINT}/pause`, caller);
    expectFailure(await send(name, caller), 409);
  });
});

describe("a webhook of another organisation", () => {
  // evidence: webhooks-rest-isolated
  it.each(expecting(404, withId.filter(ofWebhooks)))(
    "is answered like an unknown one, and does not change: %s",
    async (name) => {
      const [mine, theirs] = [await newWebhooks(), await newWebhooks()];
      const before = await snapshotOf(app.database, theirs.organization.id);
      const unknown = {
        key: mine.key,
        endpoint: "whe_00000000000000000000000000",
        delivery: "dlv_00000000000000000000000000",
      };
      const foreign = await send(name, callerOf(name, { ...theirs, key: mine.key }));
      const error = expectFailure(foreign, 404, /^There is no such (webhook endpoint|delivery)$/);
      expect(error).toEqual(expectFailure(await send(name, callerOf(name, unknown)), 404));
      expect(await snapshotOf(app.database, theirs.organization.id)).toEqual(before);
    },
  );

  it("does not filter deliveries", async () => {
    const [mine, theirs] = [await newWebhooks(), await newWebhooks()];
    const query = `?endpoint_id=${theirs.endpoint}`;
    expectFailure(await send("GET /v1/webhook-deliveries", { ...mine, id: "" }, { query }), 404);
  });
});

// evidence: idempotency-record-without-signing-secret
it.each(["POST /v1/webhook-endpoints", `POST ${ENDPOINT}/rotate-secret`])(
  "the record of an Idempotency-Key has no signing secret: %s",
  async (name) => {
    const webhooks = await newWebhooks();
    const headers = { "idempotency-key": "retry" };
    const { secret } = (await send(name, callerOf(name, webhooks), { headers })).body.data;
    expect(secret).toMatch(/^whsec_/);
    const records = await app.database.query<{ answer: string }>(sql`
        select answer from idempotency_record where organization_id = ${webhooks.organization.id}`);
    expect(records).toHaveLength(1);
    expect(JSON.stringify(records)).not.toContain("whsec_");
    expect(JSON.stringify(records)).not.toContain((secret as string).slice(6));
  },
);

describe("500 after an unexpected error", () => {
  const tables = [
    "job",
    "job_event",
    "job_status",
    "failure_reason",
    "request_log",
    "webhook_endpoint",
    "webhook_delivery",
  ];
  let webhooks: Webhooks;
  let keyToRevoke: Caller;
  beforeAll(async () => {
    webhooks = await newWebhooks();
    keyToRevoke = await prepare("DELETE /v1/api-keys/{id}");
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
      const ready = ofWebhooks(name) ? callerOf(name, webhooks) : keyToRevoke;
      const caller = /webhook-|api-keys/.test(name) ? ready : await prepare(name);
      expect((await send(name, caller)).status).toBe(500);
    },
  );
});

describe("the document", () => {
  it.each(names)("declares only statuses that a test here expects: %s", (name) => {
    const shared = new Set([
      ...SHARED_REFUSALS,
      ...(keyed.includes(name) ? KEYED_REFUSALS : []),
      ...(name.startsWith("GET ") ? [] : CHANGE_REFUSALS),
    ]);
    const own = new Set(Object.keys(operationOf(name).responses).map(Number)).difference(shared);
    expect(expectedStatuses.get(name)?.difference(shared)).toEqual(own);
  });

  it("has only operations under /v1 that were called here", () => {
    const described = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // test/api/test-mode calls the others.
    expect(names.toSorted()).toEqual(described.filter((name) => !name.includes(" /v1/test/")).toSorted());
  });
});
