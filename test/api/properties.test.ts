import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { expectEnvelope } from "../support/app/assertions.ts";
import { errorCodeByStatus } from "../support/app/error-codes.ts";
import {
  anyJson,
  feedParameters,
  listParameters,
  patch,
  queryStrings,
  text,
  nonEmptyText,
} from "../support/app/arbitraries.ts";
import { jobPath } from "../support/app/job-client.ts";
import { sendRawRequest, type RawRequest } from "../support/app/raw-http-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";

const { app, agent } = useSharedApp();
let numbers: string[];

beforeAll(async () => {
  numbers = await app.createJobs(agent, 12);
});

/** Sends exactly this; accepts any response in the envelope with a matching code and status, except 500. */
async function expectSoundAnswer(
  path: string,
  { headers = {}, ...request }: RawRequest = {},
): Promise<ApiResponse> {
  const json = request.body === undefined ? {} : { "content-type": "application/json" };
  const response = await sendRawRequest(app.url, path, {
    ...request,
    headers: { "x-api-key": agent.key, ...json, ...headers },
  });
  expectEnvelope(response);
  const { status, body } = response;
  const succeeded = status === 200;
  expect(status).not.toBe(500);
  expect(errorCodeByStatus).toHaveProperty(succeeded ? "400" : String(status));
  expect({ success: body.success, hasData: body.data !== null, code: body.error?.code }).toEqual({
    success: succeeded,
    hasData: succeeded,
    code: succeeded ? undefined : errorCodeByStatus[status],
  });
  return response;
}

describe("any JSON body", () => {
  // evidence: patch-any-json-never-500
  it("in PATCH of one job gets a response in the envelope, never 500", async () => {
    const body = fc.oneof({ weight: 4, arbitrary: patch }, { weight: 1, arbitrary: anyJson });
    await fc.assert(
      fc.asyncProperty(body, fc.nat({ max: 11 }), async (value, index) => {
        await expectSoundAnswer(jobPath(numbers[index] ?? ""), {
          method: "PATCH",
          body: JSON.stringify(value),
        });
      }),
      { numRuns: 250 },
    );
  });

  it("in PATCH of a batch gets a response in the envelope with one result per item, never 500", async () => {
    const number = fc.oneof(
      { weight: 20, arbitrary: fc.nat({ max: 11 }).map((index) => numbers[index] ?? "") },
      { weight: 10, arbitrary: nonEmptyText.filter((one) => one.isWellFormed() && !one.includes("\0")) },
      { weight: 1, arbitrary: anyJson },
    );
    const item = fc.oneof(
      {
        weight: 40,
        arbitrary: fc.tuple(number, patch).map(([marking_number, fields]) => ({ ...fields, marking_number })),
      },
      { weight: 1, arbitrary: anyJson },
    );
    const body = fc.oneof(
      { weight: 20, arbitrary: fc.record({ jobs: fc.array(item, { maxLength: 6 }) }) },
      { weight: 1, arbitrary: fc.record({ jobs: anyJson }) },
      { weight: 1, arbitrary: anyJson },
    );
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const response = await expectSoundAnswer("/v1/jobs/batch", {
          method: "PATCH",
          body: JSON.stringify(value),
        });
        if (response.status !== 200) return;
        const { results, updated_count, failed_count } = response.body.data;
        const sent = (value as { jobs: { marking_number: string }[] }).jobs;
        expect(results.map((result: { marking_number: string }) => result.marking_number)).toEqual(
          sent.map((one) => one.marking_number),
        );
        expect(updated_count + failed_count).toBe(sent.length);
        for (const result of results) expect(result.error_code).not.toBe("InternalServerErrorException");
      }),
      { numRuns: 150 },
    );
  });
});

it("any bytes as a body get a response in the envelope, never 500", async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: "binary" }).map((one) => Buffer.from(one)),
  );
  const encoding = fc.constantFrom("identity", "gzip", "deflate", "br", "x");
  await fc.assert(
    fc.asyncProperty(
      bytes,
      encoding,
      fc.constantFrom("/v1/jobs/batch", "/v1/jobs/by-marking/x"),
      async (body, contentEncoding, path) => {
        const response = await expectSoundAnswer(path, {
          method: "PATCH",
          body,
          headers: { "content-encoding": contentEncoding },
        });
        expect(response.status).toBeGreaterThanOrEqual(400);
      },
    ),
    { numRuns: 120 },
  );
});

it("any query gets a response in the envelope, never 500", async () => {
  await fc.assert(
    fc.asyncProperty(queryStrings(listParameters), queryStrings(feedParameters), async (query, feed) => {
      await expectSoundAnswer(`/v1/jobs?${query}`);
      await expectSoundAnswer(`/v1/events?${feed}`);
      await expectSoundAnswer(`${jobPath(numbers[0] ?? "")}/history?${query}`);
    }),
    { numRuns: 120 },
  );
});

it("any path gets a response in the envelope, never 500", async () => {
  const rawSegment = fc.string({
    unit: fc.constantFrom(...Array.from("abAB01/.%-_~!$&'()*+,;=:@")),
    maxLength: 20,
  });
  const segment = fc.oneof(rawSegment, text.filter((one) => one.isWellFormed()).map(encodeURIComponent));
  const path = fc.oneof(
    segment.map((one) => `/v1/jobs/by-marking/${one}`),
    segment.map((one) => `/v1/jobs/by-marking/${one}/history`),
    segment.map((one) => `/v1/${one}`),
    segment.map((one) => `/${one}`),
  );
  const method = fc.constantFrom("GET", "PATCH", "POST", "DELETE", "OPTIONS");
  await fc.assert(
    fc.asyncProperty(path, method, async (one, verb) => {
      const response = await sendRawRequest(app.url, one, {
        method: verb,
        headers: { "x-api-key": agent.key, "content-type": "application/json", "content-length": 12 },
        body: '{"weight":1}',
      }).catch((error: unknown) => {
        // Responses other than JSON are pages for people (`/docs`), not paths of the API.
        if (one.startsWith("/v1") || !(error instanceof SyntaxError)) throw error;
        return null;
      });
      if (!response) return;
      expect(response.status).not.toBe(500);
      if (one.startsWith("/v1")) expectEnvelope(response);
    }),
    { numRuns: 200 },
  );
});

it("any value of the request headers gets a response in the envelope, never 500", async () => {
  const value = fc.oneof(
    fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 300,
    }),
    fc.string({
      unit: fc.integer({ min: 0xa0, max: 0xff }).map((code) => String.fromCharCode(code)),
      maxLength: 20,
    }),
    fc.constantFrom(
      '"1"',
      "*",
      'W/"1"',
      '"1","2"',
      "Bearer x",
      "gzip;q=1.0, *;q=0",
      "application/json; charset=utf-8",
    ),
  );
  const name = fc.constantFrom(
    "if-match",
    "idempotency-key",
    "authorization",
    "content-type",
    "accept",
    "accept-encoding",
    "x-forwarded-for",
    "cookie",
  );
  await fc.assert(
    fc.asyncProperty(name, value, async (header, given) => {
      await expectSoundAnswer(jobPath(numbers[1] ?? ""), {
        method: "PATCH",
        body: '{"weight":1}',
        headers: { [header]: given },
      });
    }),
    { numRuns: 120 },
  );
});
