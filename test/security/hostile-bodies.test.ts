/** Bodies that are made to harm: bombs, depths, widths, keys that collide or that every object has. Each costs little and breaks nothing. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { routeCases, sendFromOwnPage, type RouteCase } from "../support/app/route-cases.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp({ NODE_ENV: "production" });
  agent = await app.createOrganization("agent");
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  ({ cookie } = await signIn(app, owner));
});
afterAll(() => app[Symbol.asyncDispose]());

const graphql: RouteCase = { method: "POST", path: "/graphql", auth: "key", json: true };
const takers = [...routeCases, graphql].filter(({ json }) => json);
const titled = takers.map((door): [string, RouteCase] => [`${door.method} ${door.path}`, door]);

async function send(
  door: RouteCase,
  body: string | Uint8Array<ArrayBuffer>,
  encoding?: string,
): Promise<number> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (encoding !== undefined) headers["content-encoding"] = encoding;
  if (door.auth === "key") headers["x-api-key"] = agent.key;
  if (door.auth === "session") headers["cookie"] = cookie;
  const response = await sendFromOwnPage(app, door, { body, headers });
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

describe("a compressed bomb", () => {
  it("is small, and holds more than any body may", () => {
    for (const [, body] of bombs) expect(body.length).toBeLessThan(64 * 1024);
  });

  // evidence: compressed-body-limit
  it.each(titled)("is given up at the route's bound: %s", async (_, door) => {
    for (const [encoding, bomb] of bombs) expect(await send(door, bomb, encoding)).toBe(413);
  });

  // evidence: compressed-body-unsupported-encoding
  it.each(titled)("of an encoding that is not read, or of several, is refused: %s", async (_, door) => {
    for (const encoding of ["compress", "x", "gzip, gzip", "br, gzip"])
      expect(await send(door, gzipSync(gzipSync("{}")), encoding)).toBe(415);
  });
});

/** As large as fits into the smallest bound. */
const harmful: [name: string, body: string][] = [
  ["objects within each other", `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`],
  ["lists within each other", `{"jobs":${"[".repeat(7_000)}${"]".repeat(7_000)}}`],
  ["many keys", `{${Array.from({ length: 1_000 }, (_, at) => `"key${at}":1`).join(",")}}`],
  ["one key many times", `{${Array.from({ length: 1_500 }, () => `"a":1`).join(",")}}`],
  ["keys that are numbers", `{${Array.from({ length: 800 }, (_, at) => `"${at * 65_536}":1`).join(",")}}`],
  ["a number of ten thousand digits", `{"weight":${"9".repeat(10_000)}}`],
  ["a text of nothing but escapes", `{"name":"${"\\u0000".repeat(2_000)}"}`],
  ["half a character", '{"name":"\\ud800","email":"\\ud800@x"}'],
  ["keys that every object has", '{"toString":null,"hasOwnProperty":1,"valueOf":{},"then":1,"toJSON":"x"}'],
  [
    "a prototype",
    '{"__proto__":{"polluted":1,"role":"operator"},"constructor":{"prototype":{"polluted":1}}}',
  ],
  [
    "a prototype further in",
    '{"jobs":[{"__proto__":{"polluted":1}}],"variables":{"__proto__":{"polluted":1}}}',
  ],
];

describe("a harmful body", () => {
  // evidence: harmful-json-rejected
  it.each(titled)("is told what is wrong with it, and is no failure of ours: %s", async (_, door) => {
    for (const [name, body] of harmful) {
      const status = await send(door, body);
      expect({ name, refused: status >= 400 && status < 500 }).toEqual({ name, refused: true });
    }
  });

  // evidence: json-objects-unchanged
  it("leaves every other object as it is", () => {
    expect("polluted" in {}).toBe(false);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

/** Microseconds of CPU that this process, which the service is in, spends on `work`. */
async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const asValues = (texts: readonly string[]): string => `["${texts.join('","')}"]`;
const asKeys = (texts: readonly string[]): string => `{"${texts.join('":1,"')}":1}`;

let meetings = 0;
/** Numbers that met in V8's table of texts. Each time others: those that are in the table cost nothing any more. */
function meeting(): string[] {
  meetings += 1;
  return Array.from({ length: 60_000 }, (_, at) => String(at * 2 ** 14 + meetings));
}

/** As many texts, as long, and none of them a number. */
const usual = (texts: readonly string[]): string[] =>
  texts.map((text) => text.replaceAll(/\d/g, (digit) => "abcdefghij"[Number(digit)] as string));

/** How many times as much as usual texts those that meet cost: of three times the one between, since others' work is in it. */
async function excessOf(
  written: (texts: readonly string[]) => string,
  work: (body: string) => unknown,
): Promise<number> {
  const ratios: number[] = [];
  while (ratios.length < 3) {
    const texts = meeting();
    const [meets, differs] = [written(texts), written(usual(texts))];
    const cost = await costOf(() => work(differs));
    ratios.push((await costOf(() => work(meets))) / (cost + 5_000));
  }
  return ratios.toSorted((one, other) => one - other)[1] as number;
}

/**
 * Numbers alone: the hash of a text that is one was made of its value, for anybody to reckon with, until V8 gave it a seed
 * too. The hash of any other text depends on the process's secret seed, so nobody outside can look for those that meet.
 */
describe("texts that are numbers, a step apart that made them meet in a table", () => {
  // Before that seed it was ten to a hundred times as much.
  const MOST = 5;

  // evidence: hash-collision-parse-cost
  it.each([
    ["values", asValues],
    ["keys", asKeys],
  ])("cost no more than others do, as %s", async (_, written) => {
    expect(await excessOf(written, (body) => JSON.parse(body))).toBeLessThan(MOST);
  });

  // evidence: hash-collision-request-cost
  it.each([
    { method: "PATCH", path: "/v1/jobs/batch", auth: "key" },
    { method: "POST", path: "/graphql", auth: "key" },
  ] satisfies RouteCase[])("are refused for no more work than others are: $path", async (door) => {
    const refused = async (body: string): Promise<void> => expect(await send(door, body)).toBe(400);
    expect(await excessOf((texts) => `{"jobs":${asValues(texts)}}`, refused)).toBeLessThan(MOST);
  });
});
