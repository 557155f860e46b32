import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/platform/cursor.ts";
import { raw, sql } from "../../src/platform/postgres/sql.ts";
import {
  startAppInstance,
  toApiResponse,
  type AppInstance,
  type ApiResponse,
} from "../support/app/app-instance.ts";
import { contract, expectToMatchContract, type Operation } from "../support/app/openapi-contract.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { createFakeClock, DAY_MS } from "../support/fake-clock.ts";
import { lockJobRow } from "../support/database/row-lock.ts";
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
const notJson = { headers: { "content-type": "text/plain" } };
const tooLarge = (bytes: number): { body: object } => ({ body: { instructions: "x".repeat(bytes) } });

/** A valid request of each operation, and requests for its specific errors. */
const samples: Record<string, { right: Sample; wrong: Record<number, Partial<Sample>> }> = {
  "GET /v1/jobs": {
    right: { path: "/v1/jobs?page_size=1&sort=-updated_at" },
    wrong: { 400: { path: "/v1/jobs?page=0&page_size=x&normalized_status=" } },
  },
  "PATCH /v1/jobs/batch": {
    right: { path: "/v1/jobs/batch", body: batch },
    wrong: { 400: { body: { jobs: [{}] } }, 413: tooLarge(4 * 1024 * 1024), 415: notJson },
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
      413: tooLarge(64 * 1024),
      415: notJson,
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
  "GET /v1/reference/statuses": { right: { path: "/v1/reference/statuses" }, wrong: {} },
  "GET /v1/reference/failure-reasons": { right: { path: "/v1/reference/failure-reasons" }, wrong: {} },
};
const names = Object.keys(samples);
const withBody = names.filter((name) => name.startsWith("PATCH"));

let app: TestApp;
let agent: TestOrganization;
let contractor: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ RATE_LIMITS: "on" });
  agent = await app.createOrganization("agent");
  contractor = await app.createOrganization("contractor");
  await app.createJobs(agent, [{ markingNumber: NUMBER, contractor, providerStatus: "DEX03" }, {}, {}]);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Statuses returned by each operation. `call` checks every response against the document. */
const returnedStatuses = new Map(names.map((name) => [name, new Set<number>()]));

async function send(
  api: Pick<TestApp, "call">,
  name: string,
  key?: string,
  wrong: Partial<Sample> = {},
): Promise<ApiResponse> {
  const { path, body, headers } = { ...samples[name]!.right, ...wrong };
  const [method = ""] = name.split(" ");
  const response = await api.call(path, {
    method,
    ...(key !== undefined && { key }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: headers ?? {},
  });
  returnedStatuses.get(name)?.add(response.status);
  return response;
}

describe("each operation matches the document", () => {
  it.each(names)("when it succeeds: %s", async (name) => {
    expect((await send(app, name, agent.key)).status).toBe(200);
    expect((await send(app, name, contractor.key)).status).toBe(200);
  });

  const own = names.flatMap((name) =>
    Object.keys(samples[name]!.wrong).map((status) => [name, Number(status)] as const),
  );
  it.each(own)("when it fails: %s → %i", async (name, status) => {
    expect((await send(app, name, agent.key, samples[name]!.wrong[status])).status).toBe(status);
  });

  it.each(names)("for a missing and a malformed key: %s", async (name) => {
    expect((await send(app, name)).status).toBe(401);
    expect((await send(app, name, "wmk_mistyped")).status).toBe(401);
  });

  it.each(names)("for a key without the scope: %s", async (name) => {
    const { key } = await app.createOrganization("agent", { scopes: ["webhooks:manage"] });
    expect((await send(app, name, key)).status).toBe(403);
  });

  it.each(names)("over the rate limit: %s", async (name) => {
    const limit = { perSecond: 0.001, burst: 1 };
    const { key } = await app.createOrganization("agent", {
      rateLimits: { read: limit, write: limit, batch: limit },
    });
    await send(app, name, key);
    expect((await send(app, name, key)).status).toBe(429);
  });
});

describe("the PATCH operations match the document", () => {
  it.each(withBody)("when a response is repeated, and when its key has another body: %s", async (name) => {
    const headers = { "idempotency-key": "again" };
    const body = { weight: 31, jobs: [{ marking_number: NUMBER, weight: 32 }] };
    const first = await send(app, name, agent.key, { headers, body });
    const second = await send(app, name, agent.key, { headers, body });
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.body.data).toEqual(first.body.data);
    expect((await send(app, name, agent.key, { headers, body: { jobs: [], weight: 7 } })).status).toBe(422);
  });

  it.each(withBody)("when a failed request is repeated: %s", async (name) => {
    const headers = { "idempotency-key": "wrong-again" };
    const wrong = { ...samples[name]!.wrong[400], headers };
    await send(app, name, agent.key, wrong);
    const repeated = await send(app, name, agent.key, wrong);
    expect(repeated.status).toBe(400);
    expect(repeated.headers.has("idempotency-replayed")).toBe(false);
  });

  it.each(withBody)("when the same request is still in progress: %s", async (name) => {
    const lock = await lockJobRow(app.databaseUrl, NUMBER);
    const wrong = {
      headers: { "idempotency-key": "under-way" },
      body: { weight: 2, jobs: [{ marking_number: NUMBER, weight: 2 }] },
    };
    const first = send(app, name, agent.key, wrong);
    try {
      await lock.waitForBlockedSessions();
      expect((await send(app, name, agent.key, wrong)).status).toBe(409);
    } finally {
      await lock.release();
    }
    expect((await first).status).toBe(200);
  });

  it.each(withBody)("in a dry run: %s", async (name) => {
    const path = `${samples[name]!.right.path}?dry_run=true`;
    expect((await send(app, name, agent.key, { path })).status).toBe(200);
  });
});

describe("the lists match the document", () => {
  it("when they are read by cursor", async () => {
    const first = await app.call("/v1/jobs?page_size=1", { key: agent.key });
    const cursor = first.body.data.pagination.next_cursor as string;
    const second = await app.call(`/v1/jobs?page_size=1&cursor=${cursor}`, { key: agent.key });
    expect(second.body.data.pagination).not.toHaveProperty("page");
    expect(second.body.data.items).toHaveLength(1);
  });

  it("with every type of event and actor", async () => {
    // The feed waits for older transactions, including those of other tests' databases.
    const { body, items } = await eventually(async () => {
      const feed = await app.call("/v1/events", { key: agent.key });
      const events = feed.body.data.items as { type: string; data: { actor: { type: string } } }[];
      expect(new Set(events.map(({ type }) => type))).toEqual(
        new Set(["job.created", "job.updated", "job.status_changed", "job.assigned"]),
      );
      return { body: feed.body, items: events };
    });
    expect(new Set(items.map(({ data }) => data.actor.type))).toEqual(new Set(["key", "system"]));
    const next = await app.call(`/v1/events?after=${body.data.next_cursor}`, { key: agent.key });
    expect(next.body.data).toMatchObject({ items: [], has_more: false });
  });

  it("for an expired cursor of the feed", async () => {
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, {}, { clock });
    clock.advance(31 * DAY_MS);
    const path = `/v1/events?after=${encodeCursor("events", ["0", "0"])}`;
    expect((await send(later, "GET /v1/events", agent.key, { path })).status).toBe(410);
  });
});

describe("a path", () => {
  it.each(Object.keys(contract.paths))("matches the document for an unsupported method: %s", async (path) => {
    const response = await app.call(path.replace("{markingNumber}", "x"), { method: "DELETE" });
    const methods = Object.keys(contract.paths[path] as object).flatMap((method) =>
      method === "get" ? ["GET", "HEAD"] : ["PATCH"],
    );
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(methods.join(", "));
  });

  it("that does not exist matches the document", async () => {
    expect((await app.call("/v1/nothing", { key: agent.key })).status).toBe(404);
  });

  it("without its Marking Number is the same operation", async () => {
    for (const path of ["/v1/jobs/by-marking", "/v1/jobs/by-marking/"]) {
      expect((await app.call(path, { key: agent.key })).status).toBe(400);
    }
  });
});

describe("the endpoints outside v1", () => {
  it.each(["/health/live", "/health/ready", "/openapi.json", "/docs/operations.json"])(
    "match the document: %s",
    async (path) => {
      expect((await app.call(path)).status).toBe(200);
    },
  );

  it.each(["/metrics", "/docs"])("match the document: %s", async (path) => {
    const response = await app.request(path);
    expect(response.status).toBe(200);
    expectToMatchContract("GET", path, { ...toApiResponse(response), body: response.text });
  });
});

describe("while PostgreSQL is unreachable", () => {
  let proxy: FaultProxy;
  let instance: AppInstance;

  beforeAll(async () => {
    proxy = await startFaultProxy(app.databaseUrl);
    instance = await startAppInstance(proxy.url);
    proxy.disconnect();
  });
  afterAll(async () => {
    await instance[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });

  it.each(names)("the response matches the document: %s", async (name) => {
    expect((await send(instance, name, agent.key)).status).toBe(503);
  });

  it("readiness matches the document", async () => {
    expect((await instance.call("/health/ready")).status).toBe(503);
  });
});

describe("after an unexpected error", () => {
  beforeAll(async () => {
    for (const table of ["job", "job_event", "job_status", "failure_reason"]) {
      await app.database.query(sql`alter table ${raw(table)} rename to ${raw(`${table}_gone`)}`);
    }
  });

  // evidence: internal-error-response-generic
  it.each(names)("the response matches the document and hides the cause: %s", async (name) => {
    expect((await send(app, name, agent.key)).status).toBe(500);
  });
});

describe("the document", () => {
  it.each(names)("declares only statuses that were returned here: %s", (name) => {
    const [method = "", path = ""] = name.split(" ");
    const item = contract.paths[path] as Record<string, Operation>;
    const declared = Object.keys(item[method.toLowerCase()]!.responses).map(Number);
    expect(returnedStatuses.get(name)).toEqual(new Set(declared));
  });

  it("has only operations under /v1 that were called here", () => {
    const described = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(names.toSorted()).toEqual(described.filter((name) => name.includes(" /v1/")).toSorted());
  });
});
