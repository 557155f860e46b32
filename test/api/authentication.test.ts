import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generateKey } from "../../src/api-keys/format.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startAppInstance, type AppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { createFakeClock, HOUR_MS, MINUTE_MS, type FakeClock } from "../support/fake-clock.ts";
import { listJobs, type ApiClient } from "../support/app/job-client.ts";
import { createFactories, keyIdOf, type TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { sendBytes } from "../support/app/raw-http-client.ts";
import { eventually } from "../support/eventually.ts";
import { suspend } from "../support/app/suspend.ts";

/** A process with its own clock, and without TRUST_PROXY. */
let app: AppInstance & ReturnType<typeof createFactories>;
let behindProxy: SharedApp;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  behindProxy = await sharedApp("api");
  const started = await instance();
  app = { ...started, ...createFactories(started) };
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

function withHeaders(headers: Record<string, string>, api: ApiClient = app): Promise<ApiResponse> {
  return api.call("/v1/jobs", { headers });
}

function expectUnauthorized(answer: ApiResponse, message?: string): void {
  expectFailure(answer, 401, message);
  expect(answer.headers.get("www-authenticate")).toBe("Bearer");
}

async function lastUsed(partner: TestOrganization): Promise<number | null> {
  const [row] = await app.database.query<{ at: string | null }>(sql`
    select to_char(last_used_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at from api_key where organization_id = ${partner.id}`);
  return row?.at ? Date.parse(row.at) : null;
}

/** Starts another process on the same database, with an empty cache. */
function instance(env: Record<string, string> = {}): Promise<AppInstance> {
  return startAppInstance(behindProxy.databaseUrl, { WAYMARK_ROLE: "api", ...env }, { clock });
}

/** Uses the key in another process, which saves the last use when it stops. */
async function use(partner: TestOrganization): Promise<void> {
  await using process = await instance();
  expectData(await listJobs(process, partner));
}

// evidence: repeated-key-headers
describe("repeated and empty key headers", () => {
  const cases: [title: string, status: number, lines: (own: string, other: string) => string[]][] = [
    ["the same key twice", 200, (own) => [`x-api-key: ${own}`, `X-API-Key: ${own}`]],
    ["the same Bearer twice", 200, (own) => [`Authorization: Bearer ${own}`, `authorization: bearer ${own}`]],
    ["an empty x-api-key next to a Bearer", 200, (own) => ["x-api-key:", `Authorization: Bearer ${own}`]],
    ["an empty Bearer next to x-api-key", 200, (own) => [`x-api-key: ${own}`, "Authorization: Bearer"]],
    ["an empty x-api-key next to another", 200, (own) => ["x-api-key: ", `x-api-key: ${own}`]],
    ["Basic next to a Bearer", 200, (own) => ["Authorization: Basic eDp5", `Authorization: Bearer ${own}`]],
    ["x-api-key in capitals", 200, (own) => [`X-API-KEY: ${own}`]],
    ["Bearer in capitals, with spaces", 200, (own) => [`Authorization: BEARER   ${own}`]],
    ["both headers with the same key", 200, (own) => [`x-api-key: ${own}`, `Authorization: Bearer ${own}`]],
    ["Basic next to an x-api-key", 200, (own) => ["Authorization: Basic eDp5", `x-api-key: ${own}`]],
    ["two Bearers", 401, (own, other) => [`Authorization: Bearer ${own}`, `Authorization: Bearer ${other}`]],
    ["two x-api-keys", 401, (own, other) => [`x-api-key: ${own}`, `x-api-key: ${other}`]],
    ["both headers", 401, (own, other) => [`x-api-key: ${own}`, `Authorization: Bearer ${other}`]],
    [
      "three lines",
      401,
      (own, other) => [`x-api-key: ${own}`, `x-api-key: ${own}`, `Authorization: Bearer ${other}`],
    ],
    ["an empty x-api-key alone", 401, () => ["x-api-key:"]],
  ];
  const query = "GET /graphql?query=%7Bviewer%7Bkind%7D%7D HTTP/1.1";

  it.each(cases)("%s: %d, over REST and GraphQL", async (_title, status, lines) => {
    const other = await app.createOrganization("contractor");
    for (const keys of [lines(agent.key, other.key), lines(agent.key, other.key).toReversed()])
      for (const start of ["GET /v1/me HTTP/1.1", query]) {
        const head = [start, "Host: localhost", "Connection: close", "apollo-require-preflight: 1", ...keys];
        const answer = await sendBytes(app.url, [...head, "", ""].join("\r\n"));
        expect(answer).toContain(`HTTP/1.1 ${status}`);
        const isDifferent = status === 401 && keys.length > 1;
        expect(answer.includes("The request contains different keys; send only one")).toBe(isDifferent);
      }
  });
});

describe("401 with WWW-Authenticate: Bearer", () => {
  it.each(["Bearer", "Bearer ", "Basic eDp5", "Token x", "Bearer a b"])(
    "when Authorization is %j",
    async (authorization) => {
      expectUnauthorized(await withHeaders({ authorization }));
    },
  );

  // The formats: test/unit/api-keys/format.test.ts.
  it.each([
    ["malformed", () => "secret"],
    ["with a wrong checksum", () => agent.key.slice(0, -1) + (agent.key.endsWith("x") ? "y" : "x")],
    ["very long", () => "wmk_".repeat(2000)],
  ])("when the key is %s", async (_, text) => {
    expectUnauthorized(await withHeaders({ "x-api-key": text() }));
  });

  it("when the prefix belongs to a known key and the secret is wrong", async () => {
    const partner = await app.createOrganization("agent");
    const forged = generateKey();
    // A made-up secret with a valid checksum, with the known prefix.
    await app.database.query(
      sql`update api_key set prefix = ${forged.prefix} where organization_id = ${partner.id}::uuid`,
    );
    expectUnauthorized(await withHeaders({ "x-api-key": forged.text }));
  });

  it("from the exact moment when the key expires", async () => {
    const partner = await app.createOrganization("agent", { expiresAt: new Date(clock.now() + HOUR_MS) });
    expectData(await listJobs(app, partner));
    clock.advance(HOUR_MS - 1);
    expectData(await listJobs(app, partner));
    clock.advance(1);
    expectUnauthorized(await listJobs(app, partner), "expired");
  });

  // evidence: api-key-errors-identical
  it("with the same message for an unknown, a revoked and a mistyped key", async () => {
    const partner = await app.createOrganization("agent");
    await app.keys.revoke(await keyIdOf(app, partner));
    const texts = [partner.key, generateKey().text, "nonsense"];
    const messages = await Promise.all(
      texts.map(async (key) => (await listJobs(app, { key })).body.error?.message),
    );
    expect(new Set(messages).size).toBe(1);
  });
});

// Its cache: test/service/api-keys/verifier-cache.test.ts.
it("403 for each key of a suspended organisation, until it is restored", async () => {
  const partner = await app.createOrganization("agent");
  const keys = [partner.key, await app.createKey(partner.id)];
  await suspend(app.database, partner.id);
  for (const key of keys) expectFailure(await listJobs(app, { key }), 403, "suspended");
  await suspend(app.database, partner.id, false);
  for (const key of keys) await eventually(async () => expectData(await listJobs(app, { key })));
});

// evidence: forwarded-for-ignored-without-proxy
it("403 for a valid key outside its CIDR ranges, ignoring X-Forwarded-For unless TRUST_PROXY is set", async () => {
  const partner = await app.createOrganization("agent", { cidrs: ["203.0.113.0/24"] });
  const headers = { "x-api-key": partner.key, "x-forwarded-for": "203.0.113.9" };
  expectFailure(await withHeaders(headers), 403);
  expectFailure(
    await withHeaders({ ...headers, forwarded: "for=203.0.113.9", "x-real-ip": "203.0.113.9" }),
    403,
  );
  await using listed = await instance({ TRUST_PROXY: "127.0.0.0/8,::1" });
  for (const behind of [behindProxy, listed]) {
    expectData(await withHeaders(headers, behind));
    expectFailure(
      await withHeaders({ ...headers, "x-forwarded-for": "203.0.113.9, 198.51.100.1" }, behind),
      403,
    );
    expectFailure(await withHeaders({ ...headers, "x-forwarded-for": "nonsense" }, behind), 403);
  }
  await using elsewhere = await instance({ TRUST_PROXY: "10.0.0.0/8" });
  expectFailure(await withHeaders(headers, elsewhere), 403);
});

describe("the time of last use", () => {
  it("is saved at most once a minute across all processes", async () => {
    const partner = await app.createOrganization("agent");
    expect(await lastUsed(partner)).toBeNull();
    const startMs = clock.now();
    await use(partner);
    expect(await lastUsed(partner)).toBe(startMs);
    clock.advance(MINUTE_MS - 1);
    await use(partner);
    expect(await lastUsed(partner)).toBe(startMs);
    clock.advance(1);
    await use(partner);
    expect(await lastUsed(partner)).toBe(startMs + MINUTE_MS);
  });

  it("is not lost when the key cache is cleared, and not saved for a rejected request", async () => {
    const [partner, revoked] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
    const rejected = await app.createOrganization("agent", { cidrs: ["203.0.113.0/24"] });
    const process = await instance();
    expectFailure(await listJobs(process, rejected), 403);
    expectData(await listJobs(process, partner));
    expectData(await listJobs(process, revoked));
    await app.keys.revoke(await keyIdOf(app, revoked));
    await eventually(async () => expectFailure(await listJobs(process, revoked), 401));
    await process[Symbol.asyncDispose]();
    expect(await lastUsed(partner)).toBe(clock.now());
    expect(await lastUsed(rejected)).toBeNull();
  });
});
