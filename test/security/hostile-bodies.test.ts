/** Malicious request bodies: compression bombs, deep or wide JSON, colliding keys, prototype pollution. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { routeCases, sendFromOwnPage, type RouteCase } from "../support/app/route-cases.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let testKey: string;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp({ NODE_ENV: "production" });
  agent = await app.createOrganization("agent");
  testKey = await app.createKey(agent.id, { testSide: "agent" });
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  ({ cookie } = await signIn(app, owner));
});
afterAll(() => app[Symbol.asyncDispose]());

type Target = Pick<RouteCase, "method" | "path" | "auth" | "json">;
const graphql: Target = { method: "POST", path: "/graphql", auth: "key", json: true };
const jsonRoutes = [...routeCases, graphql].filter(({ json }) => json);
const titledRoutes = jsonRoutes.map((route): [string, Target] => [`${route.method} ${route.path}`, route]);

async function send(
  route: Omit<Target, "json">,
  body: string | Uint8Array<ArrayBuffer>,
  encoding?: string,
): Promise<number> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (encoding !== undefined) headers["content-encoding"] = encoding;
  if (route.auth === "key") headers["x-api-key"] = route.path.startsWith("/v1/test/") ? testKey : agent.key;
  if (route.auth === "session") headers["cookie"] = cookie;
  const response = await sendFromOwnPage(app, route, { body, headers });
  await response.text();
  return response.status;
}

const INFLATED = Buffer.alloc(48 * 1024 * 1024, " ");
const bombs: [encoding: string, body: Uint8Array<ArrayBuffer>][] = [
  ["gzip", gzipSync(INFLATED)],
  ["deflate", deflateSync(INFLATED)],
  ["br", brotliCompressSync(INFLATED)],
  ["zstd", zstdCompressSync(INFLATED)],
];

describe("a compression bomb", () => {
  // evidence: compressed-body-limit
  it.each(titledRoutes)("gets 413 at the route's body limit: %s", async (_, route) => {
    for (const [encoding, bomb] of bombs) expect(await send(route, bomb, encoding)).toBe(413);
  });

  // evidence: compressed-body-unsupported-encoding
  it.each(titledRoutes)("gets 415 for an unsupported or repeated encoding: %s", async (_, route) => {
    for (const encoding of ["compress", "x", "gzip, gzip", "br, gzip"])
      expect(await send(route, gzipSync(gzipSync("{}")), encoding)).toBe(415);
  });
});

/** Within the smallest body limit. */
const harmful: [name: string, body: string][] = [
  ["nested objects", `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`],
  ["nested lists", `{"jobs":${"[".repeat(7_000)}${"]".repeat(7_000)}}`],
  ["many keys", `{${Array.from({ length: 1_000 }, (_, index) => `"key${index}":1`).join(",")}}`],
  ["one key repeated", `{${Array.from({ length: 1_500 }, () => `"a":1`).join(",")}}`],
  ["numeric keys", `{${Array.from({ length: 800 }, (_, index) => `"${index * 65_536}":1`).join(",")}}`],
  ["a number with ten thousand digits", `{"weight":${"9".repeat(10_000)}}`],
  ["a text of escapes only", `{"name":"${"\\u0000".repeat(2_000)}"}`],
  ["a lone surrogate", '{"name":"\\ud800","email":"\\ud800@x"}'],
  ["keys of Object.prototype", '{"toString":null,"hasOwnProperty":1,"valueOf":{},"then":1,"toJSON":"x"}'],
  [
    "a prototype",
    '{"__proto__":{"polluted":1,"role":"operator"},"constructor":{"prototype":{"polluted":1}}}',
  ],
  ["a nested prototype", '{"jobs":[{"__proto__":{"polluted":1}}],"variables":{"__proto__":{"polluted":1}}}'],
];

describe("a malicious JSON body", () => {
  // evidence: harmful-json-rejected
  it.each(titledRoutes)("is rejected with a client error, never a 500: %s", async (_, route) => {
    for (const [name, body] of harmful) {
      const status = await send(route, body);
      expect({ name, refused: status >= 400 && status < 500 }).toEqual({ name, refused: true });
    }
  });

  // evidence: json-objects-unchanged
  it("does not change Object.prototype", () => {
    expect("polluted" in {}).toBe(false);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

/** Returns the CPU time in microseconds that this process, including the service, spends on `work`. */
async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const asValues = (texts: readonly string[]): string => `["${texts.join('","')}"]`;
const asKeys = (texts: readonly string[]): string => `{"${texts.join('":1,"')}":1}`;

let generation = 0;
/** Numbers whose hashes collided in V8's string table. New ones for each call, as known strings are not inserted again. */
function collidingNumbers(): string[] {
  generation += 1;
  return Array.from({ length: 15_000 }, (_, index) => String(index * 2 ** 14 + generation));
}

/** Texts of the same number and length, none of them a number. */
const toLetters = (texts: readonly string[]): string[] =>
  texts.map((text) => text.replaceAll(/\d/g, (digit) => "abcdefghij"[Number(digit)] as string));

/** Returns the median of three ratios of the cost of colliding numbers to that of letters. */
async function costRatioOf(
  serialize: (texts: readonly string[]) => string,
  work: (body: string) => unknown,
): Promise<number> {
  const ratios: number[] = [];
  while (ratios.length < 3) {
    const numbers = collidingNumbers();
    const [colliding, ordinary] = [serialize(numbers), serialize(toLetters(numbers))];
    const cost = await costOf(() => work(ordinary));
    ratios.push((await costOf(() => work(colliding))) / (cost + 5_000));
  }
  return ratios.toSorted((one, other) => one - other)[1] as number;
}

/**
 * V8 once hashed numeric strings by their value, so an attacker could compute collisions. Other strings were always hashed
 * with the process's secret seed.
 */
describe("numeric strings whose hashes once collided", () => {
  // Without the seed the ratio was 10 to 100.
  const MAX_RATIO = 5;

  // evidence: hash-collision-parse-cost
  it.each([
    ["values", asValues],
    ["keys", asKeys],
  ])("cost no more to parse than other strings, as %s", async (_, serialize) => {
    expect(await costRatioOf(serialize, (body) => JSON.parse(body))).toBeLessThan(MAX_RATIO);
  });

  // evidence: hash-collision-request-cost
  it.each([
    { method: "PATCH", path: "/v1/jobs/batch", auth: "key" },
    { method: "POST", path: "/graphql", auth: "key" },
  ] as const)("cost no more CPU time in a request than other strings: $path", async (route) => {
    const expectRejection = async (body: string): Promise<void> => expect(await send(route, body)).toBe(400);
    expect(await costRatioOf((texts) => `{"jobs":${asValues(texts)}}`, expectRejection)).toBeLessThan(
      MAX_RATIO,
    );
  });
});
