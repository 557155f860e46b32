/**
 * Refusals that all operations share. The requests come from the OpenAPI document, so a new operation is tested without a change
 * here. Each would succeed, or at least reach its service, if it were not refused.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generateKey } from "../../src/api-keys/format.ts";
import { scopes, type Scope } from "../../src/api-keys/api.ts";
import { lockId } from "../../src/idempotency/service.ts";
import { storeResponse } from "../../src/idempotency/stored-response.sql.ts";
import { fromTypedId, newRequestId } from "../../src/core/ids.ts";
import { join, raw, sql, type Sql } from "../../src/core/postgres/sql.ts";
import { rateLimitClasses } from "../../src/rate-limits/api.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import { expectFailure } from "../support/app/assertions.ts";
import { documentedRequests, type DocumentedRequest } from "../support/app/documented-requests.ts";
import { apiDocument, expectToMatchContract } from "../support/app/openapi-contract.ts";
import { sendRawRequest } from "../support/app/raw-http-client.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";

const withBody = documentedRequests.filter(({ body }) => body !== null);
const paths = Object.groupBy(documentedRequests, ({ path }) => path.replace(/\?.*/, ""));

/** With their names, which a title shows in full as `%s` but not as `$name`. */
const named = (requests: readonly DocumentedRequest[]) =>
  requests.map((request) => [request.name, request] as const);

let app: TestApp;
let agent: TestOrganization;
let testKey: string;
beforeAll(async () => {
  // Without a worker, which would change rows in the background.
  app = await startTestApp({
    RATE_LIMITS: "on",
    WAYMARK_ROLE: "api",
    ORGANIZATION_RATE_LIMIT_FACTOR: "100",
  });
  agent = await app.createOrganization("agent", { scopes });
  // Each test must get its own refusal.
  const rateLimits = { batch: { perSecond: 500, burst: 500 } };
  agent = { ...agent, key: await createKey({ rateLimits }) };
  testKey = await createKey({ testSide: "agent", rateLimits });
  const exampleNumber = /(?<=by-marking\/)[^/]+/;
  const numbers = documentedRequests.map(({ path }) => exampleNumber.exec(path)?.[0]).filter(Boolean);
  await app.createJobs(
    agent,
    [...new Set(numbers)].map((number = "") => ({ markingNumber: decodeURIComponent(number) })),
  );
  await prepareStateQuery();
});
afterAll(() => app[Symbol.asyncDispose]());

/** The side of a test key, for operations that only test keys can use. */
const testSideOf = ({ path }: DocumentedRequest) => (path.startsWith("/v1/test/") ? "agent" : undefined);
/** A key with all scopes. */
const keyFor = (request: DocumentedRequest): string => (testSideOf(request) ? testKey : agent.key);

/** Creates another key of the same organisation. */
async function createKey(key: Parameters<TestApp["createKey"]>[1]): Promise<string> {
  lastState = null;
  return await app.createKey(agent.id, { scopes, ...key });
}

/** Counters follow the jobs; the others record the refused requests themselves. */
const UNCOMPARED = /^(request_log|request_usage|rate_limit_bucket|job_counter)/;

/** Selects a checksum of all rows of each table, without the time of a key's last use. */
let selectState: Sql;
/** Of the last refusal: nothing has changed before the next, unless the test itself has changed something. */
let lastState: StoredState | null = null;

/** A checksum by table. */
type StoredState = Record<string, string>;

async function storedState(): Promise<StoredState> {
  const rows = await app.database.query<{ name: string; checksum: string }>(selectState);
  return Object.fromEntries(rows.map(({ name, checksum }) => [name, checksum]));
}

async function prepareStateQuery(): Promise<void> {
  const tables = await app.database.query<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
  const checksums = tables
    .filter(({ name }) => !UNCOMPARED.test(name))
    .map(
      ({ name }) => sql`
        select ${raw(`'${name}'`)} as name, md5(string_agg(digest, '' order by digest)) as checksum
        from (select md5((to_jsonb(each) - 'last_used_at')::text) as digest from ${raw(`"${name}"`)} each) rows`,
    );
  selectState = join(checksums, " union all ");
}

interface Change {
  method?: string;
  path?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string;
}

function send(api: Pick<AppInstance, "call">, request: DocumentedRequest, change: Change = {}) {
  const { method, path, key, headers, body } = { key: undefined, headers: {}, ...request, ...change };
  return api.call(path, {
    method,
    ...(key !== undefined && { key }),
    ...(body !== null && { body }),
    // A refused request must not reserve its key either.
    headers: { ...(method !== "GET" && { "idempotency-key": "refused" }), ...headers },
  });
}

/** Expects the status in the envelope, no change of stored data, and a response without the details of a cause. */
async function expectRefusal(status: number, call: () => Promise<ApiResponse>, message?: string | RegExp) {
  return await expectUnchangedState(async () => {
    const response = await call();
    expectFailure(response, status, message);
    return response;
  });
}

async function expectUnchangedState<Result>(run: () => Promise<Result>): Promise<Result> {
  const before = lastState ?? (await storedState());
  const result = await run();
  lastState = await storedState();
  expect(lastState).toEqual(before);
  return result;
}

const secondsToWait = ({ headers }: ApiResponse): number => Number(headers.get("retry-after"));

it.each(named(documentedRequests))(
  "401 with WWW-Authenticate without a key, and with an unknown one: %s",
  async (_name, request) => {
    const key = generateKey().text;
    for (const change of [{}, { key }]) {
      const response = await expectRefusal(401, () => send(app, request, change));
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(JSON.stringify(response.body)).not.toContain(key);
    }
  },
);

describe("403", () => {
  const scoped = documentedRequests.flatMap((request) =>
    request.scopes.map((missing) => [missing, request.name, request] as const),
  );
  const keys = new Map<string, string>();
  const limitedKey = (name: Scope | "elsewhere", request: DocumentedRequest): string =>
    keys.get(`${name} ${testSideOf(request)}`)!;
  let operatorKey: string;
  beforeAll(async () => {
    for (const testSide of [undefined, "agent"] as const) {
      for (const scope of scopes) {
        const others = scopes.filter((each) => each !== scope);
        keys.set(`${scope} ${testSide}`, await createKey({ scopes: others, testSide }));
      }
      keys.set(`elsewhere ${testSide}`, await createKey({ cidrs: ["203.0.113.0/24"], testSide }));
    }
    operatorKey = await createKey({ organizationId: null });
  });

  // evidence: api-key-scope-403
  it.each(scoped)("without the scope %s: %s", async (missing, _name, request) => {
    const response = await expectRefusal(
      403,
      () => send(app, request, { key: limitedKey(missing, request) }),
      missing,
    );
    expect(response.headers.has("www-authenticate")).toBe(false);
  });

  it.each(named(documentedRequests))(
    "from an IP address outside the key's ranges: %s",
    async (_name, request) => {
      await expectRefusal(403, () => send(app, request, { key: limitedKey("elsewhere", request) }));
    },
  );

  it.each(named(documentedRequests))("with an operator's key: %s", async (_name, request) => {
    await expectRefusal(403, () => send(app, request, { key: operatorKey }), "/graphql");
  });
});

it.each(named(documentedRequests))(
  "404 for an unknown path below, with and without a key: %s",
  async (_name, request) => {
    const path = `${request.path.replace(/\?.*/, "")}/a/b/c`;
    await expectUnchangedState(async () => {
      expectFailure(await send(app, request, { path, key: agent.key }), 404);
      expectFailure(await send(app, request, { path }), 404);
    });
  },
);

it.each(Object.keys(paths))("405 with Allow for each other method: %s", async (path) => {
  const documented = paths[path]!.map(({ method }) => method);
  const key = keyFor(paths[path]![0]!);
  const allowed = documented.includes("GET") ? [...documented, "HEAD"] : documented;
  const others = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
    (method) => !allowed.includes(method),
  );
  await expectUnchangedState(async () => {
    for (const method of others) {
      const body = method === "GET" ? {} : { body: "{" };
      const response = await app.call(path, { method, key, ...body });
      expectFailure(response, 405);
      expect(new Set(response.headers.get("allow")?.split(", "))).toEqual(new Set(allowed));
    }
  });
});

/** The request as it is stored for its Idempotency-Key. */
const keyedAs = async (request: DocumentedRequest, key: string) => {
  const { data } = (await app.call("/v1/me", { key: keyFor(request) })).body;
  const organizationId = fromTypedId("org", data.organization.id) ?? "";
  return { organizationId, route: request.name, key, requestId: newRequestId() };
};

describe("an Idempotency-Key", () => {
  const keyed = named(documentedRequests.filter(({ isKeyed }) => isKeyed));
  /** The URL of a new endpoint is resolved before the key is locked. */
  const resolved = { body: '{"url":"https://93.184.215.14/webhooks"}' };
  const sendKeyed = (request: DocumentedRequest, key: string) =>
    send(app, request, {
      key: keyFor(request),
      headers: { "idempotency-key": key },
      ...(request.name === "POST /v1/webhook-endpoints" && resolved),
    });

  it.each(keyed)("422 if it was used for a different request: %s", async (_name, request) => {
    const other = { ...(await keyedAs(request, "used")), fingerprint: Buffer.alloc(32) };
    await storeResponse(app.database, other, { data: {} });
    lastState = null;
    await expectRefusal(422, () => sendKeyed(request, "used"));
  });

  it.each(keyed)("409 while the first request is in flight: %s", async (_name, request) => {
    const lock = lockId(await keyedAs(request, "in-flight"));
    await app.database.transaction(async (tx) => {
      await tx.query(sql`select pg_advisory_xact_lock(${lock})`);
      await expectRefusal(409, () => sendKeyed(request, "in-flight"), "still in progress");
    });
  });
});

// evidence: body-limit-content-length
it.each(named(withBody))("413 by the Content-Length, before the body is sent: %s", async (_name, request) => {
  const { method, path } = request;
  const headers = {
    "content-type": "application/json",
    "x-api-key": keyFor(request),
    "content-length": String(2 ** 40),
  };
  const response = await expectRefusal(413, () =>
    sendRawRequest(app.url, path, { method, headers, isUnfinished: true }),
  );
  expectToMatchContract(method, path, response);
});

it.each(named(withBody))("415 for a body that is not application/json: %s", async (_name, request) => {
  const headers = { "content-type": "text/plain" };
  await expectRefusal(415, () => send(app, request, { key: keyFor(request), headers }));
});

describe("400", () => {
  it.each(named(withBody))("for a body that is no JSON object: %s", async (_name, request) => {
    for (const body of ["{", "[]"])
      await expectRefusal(400, () => send(app, request, { key: keyFor(request), body }), /JSON|object/);
  });

  // evidence: problem-lists-bounded
  it.each(named(withBody))(
    "with at most 20 problems, for thousands of unknown members: %s",
    async (_name, request) => {
      const body = JSON.stringify(
        Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`x${index}`, []])),
      );
      const { body: answer } = await expectRefusal(400, () =>
        send(app, request, { key: keyFor(request), body }),
      );
      const { details } = answer.error as { details: unknown[] | null };
      expect(details?.length ?? 0).toBeLessThanOrEqual(20);
      expect(JSON.stringify(answer).length).toBeLessThan(16_384);
    },
  );
});

it.each(named(documentedRequests))(
  "429 with Retry-After over the limit of the key: %s",
  async (_name, request) => {
    const limit = { perSecond: 0.001, burst: 1 };
    const rateLimits = Object.fromEntries(rateLimitClasses.map((name) => [name, limit]));
    const key = await createKey({ rateLimits, testSide: testSideOf(request) });
    // Refused requests take tokens too.
    await send(app, request, { key, ...(request.body !== null && { body: "{" }) });
    const response = await expectRefusal(429, () => send(app, request, { key }));
    expect(secondsToWait(response)).toBeGreaterThan(900);
  },
);

describe("503 with Retry-After while PostgreSQL is unreachable", () => {
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

  it.each(named(documentedRequests))("%s", async (_name, request) => {
    const response = await expectRefusal(503, () => send(instance, request, { key: agent.key }));
    expect(secondsToWait(response)).toBeGreaterThanOrEqual(1);
    expect(response.body.error?.message).not.toMatch(/ECONN|127\.0\.0\.1|terminat|timeout|5\d{4}/i);
  });
});

it("only operations with a body declare 413 and 415", () => {
  const declaring = Object.entries(apiDocument.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { responses }]) => "413" in responses && "415" in responses)
      .map(([method]) => `${method.toUpperCase()} /v1${path}`),
  );
  expect(declaring).toEqual(withBody.map(({ name }) => name));
});
