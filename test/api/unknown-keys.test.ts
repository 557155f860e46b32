/**
 * Limits look-ups of made-up keys with a valid checksum, which only PostgreSQL can reject. The cache is tested in
 * test/service/api-keys/verifier-cache.test.ts.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { generateKey } from "../../src/api-keys/format.ts";
import { unknownKeyRate } from "../../src/api-keys/verifier.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { createApiClient, startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let proxy: FaultProxy;
/** Another process, whose SQL statements are counted. */
let other: AppInstance;

beforeAll(async () => {
  app = await sharedApp("api");
  proxy = await startFaultProxy(app.databaseUrl);
  other = await startAppInstance(proxy.url, { TRUST_PROXY: "1" });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

async function list(key: string, from: string): Promise<Response> {
  return await fetch(`${other.url}/v1/jobs`, { headers: { "x-api-key": key, "x-forwarded-for": from } });
}

/** An IP address within one /64. */
const from = (host: number): string => `2001:db8:0:7::${host.toString(16)}`;

const lookups = (): number => proxy.statements.filter((text) => text.includes("where prefix =")).length;

// evidence: unknown-key-lookups-limited
it("a thousand unknown keys from one IPv6 /64 cost 100 statements and 20 more a second", async () => {
  const before = lookups();
  const beganMs = performance.now();
  const statuses: number[] = [];
  for (let part = 0; part < 20; part += 1) {
    const keys = Array.from({ length: 50 }, () => generateKey().text);
    const answers = await Promise.all(keys.map((key, index) => list(key, from(part * 50 + index + 2))));
    statuses.push(...answers.map(({ status }) => status));
  }
  const most = unknownKeyRate.burst + (unknownKeyRate.perSecond * (performance.now() - beganMs)) / 1000;
  const refused = statuses.filter((status) => status === 429).length;
  expect(lookups() - before).toBe(1_000 - refused);
  expect(statuses.filter((status) => status === 401)).toHaveLength(1_000 - refused);
  expect(1_000 - refused).toBeGreaterThanOrEqual(unknownKeyRate.burst);
  expect(1_000 - refused).toBeLessThanOrEqual(most + 1);
  expect((await list(generateKey().text, "2001:db8:0:8::1")).status).toBe(401);
});

it("429 for too many unknown keys has the headers that the OpenAPI document declares, of that limit", async () => {
  const api = createApiClient(other.url);
  const headers = { "x-forwarded-for": "2001:db8:0:9::1" };
  const call = () => api.call("/v1/jobs", { key: generateKey().text, headers });
  let refused: Awaited<ReturnType<typeof call>> | undefined;
  // More than once on a machine that is so slow that the limit refills meanwhile.
  while (!refused) {
    const responses = await Promise.all(Array.from({ length: 2 * unknownKeyRate.burst }, call));
    refused = responses.find(({ status }) => status === 429);
  }
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.headers.get("ratelimit-policy")).toBe('"unknown-keys";q=100;w=5');
  expect(refused.headers.get("x-ratelimit-limit")).toBe("100");
});
