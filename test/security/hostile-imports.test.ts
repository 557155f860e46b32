/** Malicious import files. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp();
  agent = await app.createOrganization("agent");
  ({ cookie } = await signIn(app, await createTestUser(app, { organizationId: null, role: "operator" })));
});
afterAll(() => app[Symbol.asyncDispose]());

interface ImportResponse {
  status: number;
  /** The last line: the report, or the error envelope. */
  last: { type?: string; counts?: Record<string, number>; stopped?: unknown; error?: { code: string } };
}

async function importFile(file: string | Buffer, type: string, headers = {}): Promise<ImportResponse> {
  const path = `/console-api/imports?agent=${encodeURIComponent(agent.name)}`;
  const response = await app.request(path, {
    method: "POST",
    body: file,
    headers: { origin: app.url, cookie, "content-type": type, ...headers },
  });
  const lines = response.text.trimEnd().split("\n");
  return { status: response.status, last: JSON.parse(lines.at(-1) ?? "null") };
}

const CSV = "text/csv";
const NDJSON = "application/x-ndjson";
const HEAD = "marking_number,weight\n";

describe("an import file", () => {
  // evidence: import-harmful-rows-fail
  it.each([
    ["a line with half a million cells", `${HEAD}${",".repeat(500_000)}x\nSEC-1,2\n`, CSV],
    ["half a million quotes", `${HEAD}"${'""'.repeat(250_000)}",1\nSEC-1,2\n`, CSV],
    ["U+0000 in every cell", `${HEAD}${"\0,\0\n".repeat(500)}SEC-1,2\n`, CSV],
    [
      "nested values",
      `{"marking_number":${"[".repeat(20_000)}${"]".repeat(20_000)}}\n{"marking_number":"SEC-1","weight":2}\n`,
      NDJSON,
    ],
    [
      "a prototype",
      '{"marking_number":"SEC-2","weight":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\n{"marking_number":"SEC-1","weight":2}\n',
      NDJSON,
    ],
    [
      "a very long number",
      `{"marking_number":"SEC-3","weight":${"9".repeat(100_000)}}\n{"marking_number":"SEC-1","weight":2}\n`,
      NDJSON,
    ],
  ])("has its malicious rows reported as failed and its valid row imported: %s", async (_, file, type) => {
    const { status, last } = await importFile(file, type);
    expect(status).toBe(200);
    expect(last).toMatchObject({ type: "report", stopped: null });
    expect(last.counts?.["failed"]).toBeGreaterThan(0);
    expect(
      (last.counts?.["created"] ?? 0) + (last.counts?.["updated"] ?? 0) + (last.counts?.["unchanged"] ?? 0),
    ).toBe(1);
    expect("polluted" in {}).toBe(false);
  });

  // evidence: import-harmful-files-rejected
  it.each([
    ["200,000 columns", `${"a,".repeat(200_000)}marking_number\n`, CSV],
    ["columns named like properties of Object.prototype", "__proto__,constructor,toString\n1,2,3\n", CSV],
    ["a line longer than a megabyte", `${HEAD}${"x".repeat(1_100_000)},1\n`, CSV],
    ["no line end", "x".repeat(3_000_000), NDJSON],
  ])("is refused, or ends, with what is wrong: %s", async (_, file, type) => {
    const { status, last } = await importFile(file, type);
    expect(status).toBeLessThan(500);
    expect(last.error?.code ?? last.stopped ?? last.counts?.["failed"]).toBeTruthy();
  });

  // evidence: import-never-decompressed
  it("is never decompressed", async () => {
    const bomb = gzipSync(Buffer.alloc(1024 * 1024, "a"));
    expect((await importFile(bomb, CSV, { "content-encoding": "gzip" })).status).toBe(415);
    expect((await importFile(bomb, "application/zip")).status).toBe(415);
    // Read as CSV, it has no known columns.
    const { status, last } = await importFile(bomb, CSV);
    expect({ status, code: last.error?.code }).toEqual({ status: 400, code: "BadRequestException" });
  });
});
