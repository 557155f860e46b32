import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, jobPath } from "../support/app/job-client.ts";
import { sendRawRequest } from "../support/app/raw-http-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";

const { app, agent } = useSharedApp();
let number: string;

beforeEach(async () => {
  number = await app.createJob(agent);
});

const JSON_TYPE = "application/json";
const ONE_JOB = 64 * 1024;
const BATCH = 4 * 1024 * 1024;

/** PATCHes the job with exactly these bytes. */
function send(
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  path = jobPath(number),
): Promise<ApiResponse> {
  const all = { "content-type": JSON_TYPE, "x-api-key": agent.key, ...headers };
  return sendRawRequest(app.url, path, {
    method: "PATCH",
    headers: { ...all, "content-length": Buffer.byteLength(body) },
    body,
  });
}

/** Returns a body of exactly `length` bytes that sets `weight`. */
function padded(length: number, weight: number): string {
  const frame = `{"weight":${weight},"pad":""}`;
  return `{"weight":${weight},"pad":"${"x".repeat(length - frame.length)}"}`;
}

const batch = (length: number): string => {
  const frame = `{"jobs":[{"marking_number":"${number}","weight":13,"pad":""}]}`;
  return frame.replace('"pad":""', `"pad":"${"x".repeat(length - frame.length)}"`);
};

describe("400 for a body that is not a JSON object in UTF-8", () => {
  it.each(["{", '{"weight":NaN}', '{"weight":1}{"weight":2}', "weight=1", " ", "\0"])(
    "for invalid JSON: %j",
    async (body) => {
      const error = expectFailure(await send(body), 400, "not valid JSON");
      expect(error.details).toBeNull();
    },
  );

  it.each(["null", "true", "1", '"x"', "[]", '[{"weight":1}]'])(
    "for JSON other than an object: %s",
    async (body) => {
      expectProblems(await send(body), "body", [""]);
    },
  );

  it("without a body", async () => {
    expectFailure(await send(""), 400);
    expectFailure(await app.call(jobPath(number), { method: "PATCH", key: agent.key }), 400);
  });

  it("for an empty chunked body", async () => {
    const headers = { "content-type": JSON_TYPE, "x-api-key": agent.key, "transfer-encoding": "chunked" };
    expectFailure(await sendRawRequest(app.url, jobPath(number), { method: "PATCH", headers }), 400);
  });

  it.each([
    ["an overlong encoding", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["Latin-1", [0xe9]],
  ])("for invalid UTF-8: %s", async (_, bytes) => {
    const body = Buffer.concat([Buffer.from('{"labels":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expectFailure(await send(body), 400, "UTF-8");
    expect(expectData(await getJob(app, agent, number)).labels).toBeNull();
  });

  it("but not for a byte order mark", async () => {
    expect(expectData(await send('\uFEFF{"pts":1}')).pts).toBe(1);
  });
});

describe("415 for a body that is not application/json", () => {
  it.each(["application/merge-patch+json", "application/jsonx", "application/json, text/plain", "*/*", ""])(
    "for %j",
    async (type) => {
      expectFailure(await send('{"weight":1}', { "content-type": type }), 415);
    },
  );

  it("without a Content-Type", async () => {
    const headers = { "x-api-key": agent.key, "content-length": "12" };
    expectFailure(
      await sendRawRequest(app.url, jobPath(number), { method: "PATCH", headers, body: '{"weight":1}' }),
      415,
    );
  });

  it.each(["latin1", "us-ascii", "utf-8x", "x", '"iso-8859-1"'])("for the charset %s", async (charset) => {
    expectFailure(
      await send('{"weight":3}', { "content-type": `application/json; charset=${charset}` }),
      415,
    );
  });
});

it.each(["utf-16", "utf-16le", "utf-7"])("400 for the charset %s", async (charset) => {
  const body = charset.startsWith("utf-16") ? Buffer.from('{"weight":3}', "utf16le") : '{"weight":3}';
  expectFailure(await send(body, { "content-type": `application/json; charset=${charset}` }), 400);
});

const names = (count: number): string =>
  Array.from({ length: count }, (_, index) => `"unknown${index}":0`).join(",");

const bodyWith = (count: number): string =>
  `{"jobs":[{"marking_number":"${number}","weight":4,${names(count)}}]}`;

describe("413 for a body that is too large", () => {
  // evidence: body-limit-single-job
  it("for more than 64 KiB for one job, and 200 for exactly 64 KiB", async () => {
    expect(expectData(await send(padded(ONE_JOB, 11))).weight).toBe(11);
    expectFailure(await send(padded(ONE_JOB + 1, 12)), 413);
    expect(expectData(await getJob(app, agent, number)).weight).toBe(11);
  });

  // evidence: body-limit-batch
  it("for more than 4 MiB for a batch, and not for exactly 4 MiB", async () => {
    expect(expectData(await send(batch(BATCH), {}, "/v1/jobs/batch")).updated_count).toBe(1);
    expectFailure(await send(batch(BATCH + 1), {}, "/v1/jobs/batch"), 413);
  });

  // evidence: body-limit-parts
  it("for more than 50,000 quotation marks and brackets, which take long to parse", async () => {
    const accepted = await send(bodyWith(24_000), {}, "/v1/jobs/batch");
    expect(expectData(accepted).updated_count).toBe(1);
    const refused = await send(bodyWith(25_000), {}, "/v1/jobs/batch");
    expectFailure(refused, 413, "The body has more than 50000 quotation marks and opening brackets");
    expectFailure(await send(`{"jobs":[${"[],".repeat(50_000)}[]]}`, {}, "/v1/jobs/batch"), 413);
  });

  it("counted in bytes, also for chunked bodies", async () => {
    const wide = `{"weight":14,"pad":"${"字".repeat(ONE_JOB / 3)}"}`;
    const headers = { "content-type": JSON_TYPE, "x-api-key": agent.key, "transfer-encoding": "chunked" };
    expectFailure(
      await sendRawRequest(app.url, jobPath(number), { method: "PATCH", headers, body: wide }),
      413,
    );
  });

  it("by the decompressed size, even if only its start has arrived", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(2 * ONE_JOB);
    expectFailure(await send(bomb, { "content-encoding": "gzip" }, "/v1/jobs/batch"), 413);
    expectFailure(await send(bomb.subarray(0, ONE_JOB), { "content-encoding": "gzip" }), 413);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
    const brotli = brotliCompressSync(Buffer.alloc(16 * 1024 * 1024, " "), { params });
    expectFailure(await send(brotli, { "content-encoding": "br" }), 413);
  });
});

describe("compressed bodies", () => {
  const text = '{"weight":21,"labels":"字"}';

  it.each([
    ["gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["identity", Buffer.from(text)],
  ])("are accepted: %s", async (encoding, body) => {
    expect(expectData(await send(body, { "content-encoding": encoding }))).toMatchObject({
      weight: 21,
      labels: "字",
    });
  });

  it.each([
    ["not gzip", Buffer.from(text)],
    ["truncated", gzipSync(text).subarray(0, 20)],
    ["invalid UTF-8", gzipSync(Buffer.from([0x7b, 0xff, 0x7d]))],
    ["not JSON", gzipSync("{")],
    ["empty", gzipSync("")],
  ])("return 400 for gzip that is %s", async (_, body) => {
    expectFailure(await send(body, { "content-encoding": "gzip" }), 400);
  });
});

describe("the order of checks", () => {
  it("returns 401 before reading the body", async () => {
    expectFailure(await send("{", { "x-api-key": "none", "content-type": "text/plain" }), 401);
  });

  it("returns 403 before parsing the body", async () => {
    const reader = await app.createOrganization("agent", { scopes: ["jobs:read"] });
    expectFailure(await send("{", { "x-api-key": reader.key }), 403);
  });
});
