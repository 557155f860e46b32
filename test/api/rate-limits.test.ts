import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { createFakeClock, SECOND_MS, type FakeClock } from "../support/fake-clock.ts";
import { listJobs, patchBatch, patchJob, type ApiClient } from "../support/app/job-client.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import type { Queryable } from "../../src/core/postgres/database.ts";
import type { Sql } from "../../src/core/postgres/sql.ts";
import { createPostgresStore } from "../../src/rate-limits/rate-limit.sql.ts";
import { createMemoryStore, type BucketRequest } from "../../src/rate-limits/store.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const HEADERS = [
  "ratelimit-policy",
  "ratelimit",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
];

let app: TestApp;
let clock: FakeClock;

beforeAll(async () => {
  clock = createFakeClock();
  app = await startTestApp({ RATE_LIMITS: "on" }, { clock });
});
afterAll(() => app[Symbol.asyncDispose]());

function limitsOf({ headers }: ApiResponse): Record<string, string | null> {
  return Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)]));
}

/** Returns how many of `count` calls at one instant succeed. */
async function letThrough(count: number, call: () => Promise<ApiResponse>): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index += 1) passed += (await call()).status === 429 ? 0 : 1;
  return passed;
}

const calls = {
  read: (partner: TestOrganization) => listJobs(app, partner),
  write: (partner: TestOrganization) => patchJob(app, partner, "MN", { weight: 1 }),
  batch: (partner: TestOrganization) => patchBatch(app, partner, [{ marking_number: "MN", weight: 1 }]),
};

describe("rate limits per key", () => {
  it.each([
    ["read", 50, 100],
    ["write", 25, 50],
    ["batch", 5, 10],
  ] as const)(
    "429 for a %s beyond a burst, and %i a second after that (burst %i)",
    async (kind, perSecond, burst) => {
      const partner = await app.createOrganization("agent");
      const call = (): Promise<ApiResponse> => calls[kind](partner);
      expect(limitsOf(await call())).toEqual({
        "ratelimit-policy": `"${kind}";q=${burst};w=2, "${kind}-organization";q=${4 * burst};w=2`,
        ratelimit: `"${kind}";r=${burst - 1};t=1, "${kind}-organization";r=${4 * burst - 1};t=1`,
        "x-ratelimit-limit": String(burst),
        "x-ratelimit-remaining": String(burst - 1),
        "x-ratelimit-reset": "1",
      });
      expect(await letThrough(burst + 5, call)).toBe(burst - 1);

      const refused = await call();
      expectFailure(refused, 429);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(limitsOf(refused)).toMatchObject({
        ratelimit: `"${kind}";r=0;t=2, "${kind}-organization";r=${3 * burst};t=1`,
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "2",
      });

      clock.advance(SECOND_MS);
      expect(await letThrough(perSecond + 5, call)).toBe(perSecond);
      clock.advance(SECOND_MS / perSecond);
      expect(await letThrough(2, call)).toBe(1);
      clock.advance(1000 * SECOND_MS);
      expect(await letThrough(burst + 1, call)).toBe(burst);
    },
  );

  it("429 follows the key's own limits if it has any", async () => {
    const partner = await app.createOrganization("agent", {
      rateLimits: { read: { perSecond: 0.1, burst: 2 } },
    });
    expect(await letThrough(5, () => calls.read(partner))).toBe(2);
    const refused = await calls.read(partner);
    expectFailure(refused, 429);
    expect(refused.headers.get("retry-after")).toBe("10");
    expect(refused.headers.get("ratelimit-policy")).toBe('"read";q=2;w=20, "read-organization";q=400;w=2');
    expect(await letThrough(51, () => calls.write(partner))).toBe(50);
  });

  it("a GraphQL request takes a token for each 32 KiB of its body, and eight more if its size is unknown", async () => {
    const partner = await app.createOrganization("agent", {
      rateLimits: { read: { perSecond: 0.001, burst: 100 } },
    });
    let left = 100;
    const taken = async (bytes: number, isCompressed = false): Promise<number> => {
      const body = JSON.stringify({ query: "{ viewer { mode } }" }).padEnd(bytes);
      const { status, headers } = await fetch(`${app.url}/graphql`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-api-key": partner.key,
          ...(isCompressed && { "content-encoding": "gzip" }),
        },
        body: isCompressed ? gzipSync(body) : body,
      });
      expect(status).toBe(200);
      const count = left - Number(headers.get("x-ratelimit-remaining"));
      left -= count;
      return count;
    };
    expect(await taken(100)).toBe(1);
    expect(await taken(32_767)).toBe(1);
    expect(await taken(32_768)).toBe(2);
    expect(await taken(262_144)).toBe(9);
    expect(await taken(100, true)).toBe(9);
  });

  it("can be switched off for a key", async () => {
    const partner = await app.createOrganization("agent", { rateLimits: { batch: null } });
    expect(await letThrough(15, () => calls.batch(partner))).toBe(15);
    expect(limitsOf(await calls.batch(partner))).toEqual(
      Object.fromEntries(HEADERS.map((name) => [name, null])),
    );
    expect(await letThrough(51, () => calls.write(partner))).toBe(50);
  });

  it("send headers that a browser can read across origins", async () => {
    await using open = await startAppInstance(app.databaseUrl, {
      RATE_LIMITS: "on",
      CORS_ORIGINS: "https://app.example.com",
    });
    const { headers } = await open.request("/v1/jobs", { headers: { origin: "https://app.example.com" } });
    const exposed = headers["access-control-expose-headers"]?.toLowerCase().split(",") ?? [];
    for (const name of [...HEADERS, "retry-after", "x-request-id"]) expect(exposed).toContain(name);
  });
});

async function keysOf(partner: TestOrganization, count: number): Promise<TestOrganization[]> {
  const keys: TestOrganization[] = [];
  for (let index = 0; index < count; index += 1)
    keys.push({ ...partner, key: await app.createKey(partner.id) });
  return keys;
}

function bucketOf(id: string, burst: number): BucketRequest {
  return { id, limit: { perSecond: 0.001, burst } };
}

describe("rate limits shared by all keys of an organisation", () => {
  it("429 beyond four times the limit of one key, regardless of the number of keys", async () => {
    const partner = await app.createOrganization("agent");
    for (const key of await keysOf(partner, 4)) expect(await letThrough(10, () => calls.batch(key))).toBe(10);
    const refused = await calls.batch(partner);
    expectFailure(refused, 429, "for all keys of an organisation together is 20 a second with a burst of 40");
    expect(limitsOf(refused)).toMatchObject({
      ratelimit: '"batch";r=9;t=1, "batch-organization";r=0;t=2',
      "x-ratelimit-limit": "40",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": "2",
    });
    clock.advance(SECOND_MS);
    expect(await letThrough(25, () => calls.batch(partner))).toBe(10);
    expectFailure(await calls.batch(partner), 429, "for each key is 5 a second with a burst of 10");
  });

  it("live and test keys of both sides have one shared limit", async () => {
    const partner = await app.createOrganization("agent");
    const live = await keysOf(partner, 2);
    for (const key of live) expect(await letThrough(10, () => calls.batch(key))).toBe(10);
    for (const testSide of ["agent", "contractor"] as const) {
      const key = await app.createKey(partner.id, { testSide });
      expect(await letThrough(10, () => calls.batch({ ...partner, key }))).toBe(10);
    }
    expectFailure(await calls.batch(partner), 429, "for all keys of an organisation together");
  });

  it("429 remains after rotating the key", async () => {
    const partner = await app.createOrganization("agent");
    expect(await letThrough(11, () => calls.batch(partner))).toBe(10);
    const [key] = await app.keys.list(partner.id);
    const rotated = await app.keys.rotate(key?.id ?? "", 0, "test");
    expect(await letThrough(1, () => calls.batch({ ...partner, key: rotated.text }))).toBe(0);
    const again = await app.keys.rotate(rotated.key.id, 0, "test");
    expect(await letThrough(1, () => calls.batch({ ...partner, key: again.text }))).toBe(0);
  });

  it("follow ORGANIZATION_RATE_LIMIT_FACTOR, and one key with a higher limit never reaches them alone", async () => {
    const env = { RATE_LIMITS: "on", ORGANIZATION_RATE_LIMIT_FACTOR: "1.5" };
    await using instance = await startAppInstance(app.databaseUrl, env, { clock });
    const policyOf = async (key: Parameters<typeof app.createOrganization>[1]): Promise<string | null> => {
      const partner = await app.createOrganization("agent", key);
      return (await listJobs(instance, partner)).headers.get("ratelimit-policy");
    };
    expect(await policyOf({})).toBe('"read";q=100;w=2, "read-organization";q=150;w=2');
    expect(await policyOf({ rateLimits: { read: { perSecond: 1_000, burst: 1_000 } } })).toBe(
      '"read";q=1000;w=1, "read-organization";q=1500;w=1',
    );
  });

  it("do not affect signed-in users, who can stop an integration from the console", async () => {
    const partner = await app.createOrganization("agent");
    const user = await createSignedInUser(app, partner.id);
    for (const key of await keysOf(partner, 4)) await letThrough(10, () => calls.batch(key));
    expectFailure(await calls.batch(partner), 429, "all keys");
    const query = "{ viewer { rateLimits { class perSecond burst organization { perSecond burst } } } }";
    expect(await user.queryData(query)).toMatchObject({
      viewer: {
        rateLimits: [
          { class: "READ", perSecond: 50, burst: 100, organization: { perSecond: 200, burst: 400 } },
          { class: "WRITE", perSecond: 25, burst: 50, organization: { perSecond: 100, burst: 200 } },
          { class: "BATCH", perSecond: 5, burst: 10, organization: { perSecond: 20, burst: 40 } },
        ],
      },
    });
  });

  it.each(["in this process", "in PostgreSQL"])(
    "and the key's own limit are taken together with buckets %s",
    async (where) => {
      const statements: Sql[] = [];
      const counting: Queryable = {
        query(statement) {
          statements.push(statement);
          return app.database.query(statement);
        },
      };
      const store = where === "in PostgreSQL" ? createPostgresStore(counting) : createMemoryStore(clock);
      const shared = bucketOf("shared", 3);
      const take = async (id: string, count: number) =>
        (await store.take([bucketOf(id, 2), shared], count)).map(({ allowed }) => allowed);
      expect(await take("one", 2)).toEqual([true, true]);
      expect(await take("one", 1)).toEqual([false, true]);
      expect(await take("two", 1)).toEqual([true, true]);
      expect(await take("two", 1)).toEqual([true, false]);
      expect(statements).toHaveLength(where === "in PostgreSQL" ? 4 : 0);
      const buckets = [bucketOf("first", 3), bucketOf("second", 1), bucketOf("third", 2)];
      const takeAll = async (count: number) =>
        (await store.take(buckets, count)).map(({ allowed, tokens }) => [allowed, Math.round(tokens)]);
      expect(await takeAll(1)).toEqual([
        [true, 2],
        [true, 0],
        [true, 1],
      ]);
      expect(await takeAll(1)).toEqual([
        [true, 1],
        [false, 0],
        [true, 1],
      ]);
      expect(await takeAll(-1)).toEqual([
        [true, 2],
        [true, 1],
        [true, 2],
      ]);
    },
  );
});

describe("RATE_LIMIT_STORE=postgres", () => {
  const rateLimits = { read: { perSecond: 0.001, burst: 3 } };

  // evidence: rate-limit-shared-by-processes
  it("429 counts the requests of all processes", async () => {
    const env = { RATE_LIMITS: "on", RATE_LIMIT_STORE: "postgres" };
    await using one = await startAppInstance(app.databaseUrl, env);
    await using other = await startAppInstance(app.databaseUrl, env);
    const partner = await app.createOrganization("agent", { rateLimits });
    const remaining: (string | null)[] = [];
    for (const api of [one, other, one] satisfies ApiClient[]) {
      const answer = await listJobs(api, partner);
      expectData(answer);
      remaining.push(answer.headers.get("x-ratelimit-remaining"));
    }
    expect(remaining).toEqual(["2", "1", "0"]);
    for (const api of [one, other]) {
      const refused = await listJobs(api, partner);
      expectFailure(refused, 429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(900);
      expect(refused.headers.get("ratelimit")).toMatch(/^"read";r=0;t=\d+, /);
    }
  });

  // evidence: rate-limit-exact-burst
  it("admits exactly the burst of concurrent requests", async () => {
    await using instance = await startAppInstance(app.databaseUrl, {
      RATE_LIMITS: "on",
      RATE_LIMIT_STORE: "postgres",
    });
    const partner = await app.createOrganization("agent", {
      rateLimits: { read: { perSecond: 0.001, burst: 7 } },
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => listJobs(instance, partner)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(7);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(13);
  });
});

it("RATE_LIMITS=off admits all requests, ignores keys' own limits, and sends no rate limit headers", async () => {
  await using off = await startAppInstance(app.databaseUrl, { RATE_LIMITS: "off" });
  const partner = await app.createOrganization("agent", {
    rateLimits: { read: { perSecond: 0.001, burst: 1 } },
  });
  for (let index = 0; index < 4; index += 1) {
    const answer = await listJobs(off, partner);
    expectData(answer);
    expect(HEADERS.filter((name) => answer.headers.has(name))).toEqual([]);
  }
});
