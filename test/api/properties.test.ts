import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jobFieldNames, jobFields, type JobFieldName } from "../../src/jobs/job.fields.ts";
import { jobSortFields } from "../../src/jobs/job.filter.ts";
import { codeOfStatus, expectData, expectEnvelope } from "../support/answers.ts";
import { getJob, jobPath } from "../support/job-calls.ts";
import { callExactly, type ExactRequest } from "../support/raw-http.ts";
import { startTestApp, type Answer, type Partner, type TestApp } from "../support/start-app.ts";

let app: TestApp;
let agent: Partner;
let numbers: string[];

beforeAll(async () => {
  app = await startTestApp();
  agent = await app.partner("agent");
  numbers = await app.jobs(
    agent,
    Array.from({ length: 12 }, () => ({})),
  );
});
afterAll(() => app[Symbol.asyncDispose]());

const TIMEOUT = { timeout: 60_000 };

/** Sends exactly this, and accepts any answer in the envelope whose code is its status's, and no 500. */
async function expectSoundAnswer(
  path: string,
  { headers = {}, ...request }: ExactRequest = {},
): Promise<Answer> {
  const json = request.body === undefined ? {} : { "content-type": "application/json" };
  const answer = await callExactly(app.url, path, {
    ...request,
    headers: { "x-api-key": agent.key, ...json, ...headers },
  });
  expectEnvelope(answer);
  expect(answer.status).not.toBe(500);
  if (answer.status === 200) {
    expect(answer.body).toMatchObject({ success: true, error: null });
    expect(answer.body.data).not.toBeNull();
  } else {
    expect(answer.body).toMatchObject({
      success: false,
      data: null,
      error: { code: codeOfStatus[answer.status] },
    });
    expect(answer.body.error?.message).not.toBe("");
  }
  return answer;
}

const hostile = fc.constantFrom(
  "",
  " ",
  "\0",
  "\ud800",
  "\udfff\ud800",
  "📦",
  "null",
  "0",
  "-1",
  "1e999",
  "%",
  "%00",
  "%2F",
  "..",
  "'",
  '"',
  "\\",
  ";",
  "$1",
  "{}",
  "[]",
  "2026-02-30",
  "0000-01-01",
  "9999-12-31",
  "infinity",
  "__proto__",
  "constructor",
  "x".repeat(121),
  "\r\n",
  "\u2028",
  "\ufeff",
  "true",
);
const text = fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 200 }), fc.string());
const anyJson = fc.oneof(
  hostile,
  fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }),
  fc.double(),
  fc.integer(),
  fc.constant(null),
);
const fieldName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...jobFieldNames) },
  { weight: 1, arbitrary: text },
);
const patch = fc.dictionary(fieldName, anyJson, { maxKeys: 8, noNullPrototype: true });

const day = fc
  .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const count = fc.integer({ min: 1, max: 100 }).map(String);
const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });
const listParameters: Record<string, fc.Arbitrary<string>> = {
  marking_number: words,
  batch_number: words,
  normalized_status: fc.constantFrom("pending", "completed", "unheard_of"),
  updated_at_from: day,
  updated_at_to: day,
  scheduled_date_from: day,
  scheduled_date_to: day,
  page: count,
  page_size: count,
  cursor: words,
  sort: fc.constantFrom(...jobSortFields, ...jobSortFields.map((field) => `-${field}`)),
  updated_since: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  failure_reason: words,
  group_code: words,
  q: words,
};
const feedParameters = {
  after: words,
  types: fc.constantFrom("job.created", "job.updated,job.assigned", "x"),
  page_size: count,
};

/** A query string of `parameters` with values that suit them for the most part, and of anything else at times. */
function queryOf(parameters: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> {
  const raw = fc.string({ unit: fc.constantFrom(..."abc019-+%&=?,:.~*!'()"), maxLength: 12 });
  const escaped = text.filter((one) => one.isWellFormed()).map(encodeURIComponent);
  const anything = fc.oneof(raw, escaped);
  const suiting = Object.entries(parameters).map(([name, value]) =>
    fc.tuple(fc.constant(name), value.filter((one) => one.isWellFormed()).map(encodeURIComponent)),
  );
  const pair = fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...suiting) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...Object.keys(parameters)), anything) },
    { weight: 1, arbitrary: fc.tuple(anything, anything) },
  );
  return fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.map((one) => one.join("=")).join("&"));
}

describe("any JSON body", () => {
  it("in PATCH of one job gets an answer in the envelope and never a 500", TIMEOUT, async () => {
    const body = fc.oneof({ weight: 4, arbitrary: patch }, { weight: 1, arbitrary: anyJson });
    await fc.assert(
      fc.asyncProperty(body, fc.nat({ max: 11 }), async (value, at) => {
        await expectSoundAnswer(jobPath(numbers[at] ?? ""), { method: "PATCH", body: JSON.stringify(value) });
      }),
      { numRuns: 800 },
    );
  });

  it(
    "in PATCH of a batch gets an answer in the envelope, one result per item, and never a 500",
    TIMEOUT,
    async () => {
      const number = fc.oneof(
        { weight: 20, arbitrary: fc.nat({ max: 11 }).map((at) => numbers[at] ?? "") },
        { weight: 10, arbitrary: words.filter((one) => one.isWellFormed() && !one.includes("\0")) },
        { weight: 1, arbitrary: anyJson },
      );
      const item = fc.oneof(
        {
          weight: 40,
          arbitrary: fc
            .tuple(number, patch)
            .map(([marking_number, fields]) => ({ ...fields, marking_number })),
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
          const answer = await expectSoundAnswer("/v1/jobs/batch", {
            method: "PATCH",
            body: JSON.stringify(value),
          });
          if (answer.status !== 200) return;
          const { results, updated_count, failed_count } = answer.body.data;
          const sent = (value as { jobs: { marking_number: string }[] }).jobs;
          expect(results.map((result: { marking_number: string }) => result.marking_number)).toEqual(
            sent.map((one) => one.marking_number),
          );
          expect(updated_count + failed_count).toBe(sent.length);
          for (const result of results) expect(result.error_code).not.toBe("InternalServerErrorException");
        }),
        { numRuns: 400 },
      );
    },
  );
});

it("any bytes as a body get an answer in the envelope and never a 500", TIMEOUT, async () => {
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
        const answer = await expectSoundAnswer(path, {
          method: "PATCH",
          body,
          headers: { "content-encoding": contentEncoding },
        });
        expect(answer.status).toBeGreaterThanOrEqual(400);
      },
    ),
    { numRuns: 200 },
  );
});

it("any query gets an answer in the envelope and never a 500", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(queryOf(listParameters), queryOf(feedParameters), async (query, feed) => {
      await expectSoundAnswer(`/v1/jobs?${query}`);
      await expectSoundAnswer(`/v1/events?${feed}`);
      await expectSoundAnswer(`${jobPath(numbers[0] ?? "")}/history?${query}`);
    }),
    { numRuns: 300 },
  );
});

it("any path gets an answer in the envelope and never a 500", TIMEOUT, async () => {
  const rawSegment = fc.string({ unit: fc.constantFrom(..."abAB01/.%-_~!$&'()*+,;=:@"), maxLength: 20 });
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
      const answer = await callExactly(app.url, one, {
        method: verb,
        headers: { "x-api-key": agent.key, "content-type": "application/json", "content-length": 12 },
        body: '{"weight":1}',
      }).catch((error: unknown) => {
        // What is no JSON is one of the pages for people (`/docs`): it is no path of the API.
        if (one.startsWith("/v1") || !(error instanceof SyntaxError)) throw error;
        return null;
      });
      if (!answer) return;
      expect(answer.status).not.toBe(500);
      if (one.startsWith("/v1")) expectEnvelope(answer);
    }),
    { numRuns: 500 },
  );
});

it(
  "any value of the headers that it reads gets an answer in the envelope and never a 500",
  TIMEOUT,
  async () => {
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
      { numRuns: 300 },
    );
  },
);

describe("a random sequence of patches", () => {
  const point = fc
    .string({ unit: "grapheme", minLength: 0, maxLength: 20 })
    .filter((one) => !one.includes("\0"));
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const ofKind: Record<(typeof jobFields)[JobFieldName]["kind"], fc.Arbitrary<unknown>> = {
    text: point,
    integer: fc.integer({ min: 1 }),
    number,
    date: day,
    boolean: fc.boolean(),
  };
  const valueOf = (name: JobFieldName): fc.Arbitrary<unknown> => {
    if (name === "normalized_status") return fc.constantFrom("pending", "completed", "failed", "on_hold");
    if (name === "scheduled_delivery_pending") return fc.boolean();
    return fc.option(ofKind[jobFields[name].kind], { freq: 4 });
  };
  const sound = fc.record(Object.fromEntries(jobFieldNames.map((name) => [name, valueOf(name)])), {
    requiredKeys: [],
  });

  it("leaves the job as a model of it says, its versions and its history too", TIMEOUT, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sound, { minLength: 1, maxLength: 6 }), async (patches) => {
        const [markingNumber = ""] = await app.jobs(agent, [{}]);
        let model: Record<string, unknown> = expectData(await getJob(app, agent, markingNumber));
        let version = 1;
        for (const one of patches) {
          const answer = await expectSoundAnswer(jobPath(markingNumber), {
            method: "PATCH",
            body: JSON.stringify(one),
          });
          if (Object.keys(one).length === 0) {
            expect(answer.status).toBe(400);
            continue;
          }
          // As JSON has it: there is no negative zero.
          const asSent = JSON.parse(JSON.stringify(one)) as Record<string, unknown>;
          const changes = Object.keys(asSent).some((name) => asSent[name] !== model[name]);
          version += changes ? 1 : 0;
          model = {
            ...model,
            ...asSent,
            updated_at: changes ? answer.body.data.updated_at : model["updated_at"],
          };
          expect(expectData(answer)).toEqual(model);
          expect(answer.headers.get("etag")).toBe(`"${version}"`);
        }
        expect(expectData(await getJob(app, agent, markingNumber))).toEqual(model);
        await expectHistoryToLeadTo(model, markingNumber, version);
      }),
      { numRuns: 60 },
    );
  });
});

/** Every step taken one after the other, from nothing, ends at the job as it is. */
async function expectHistoryToLeadTo(
  model: Record<string, unknown>,
  markingNumber: string,
  version: number,
): Promise<void> {
  const { items } = expectData(
    await app.call(`${jobPath(markingNumber)}/history?page_size=100`, { key: agent.key }),
  );
  expect(items.map((item: { sequence: number }) => item.sequence)).toEqual(
    Array.from({ length: version }, (_, at) => version - at),
  );
  const state: Record<string, unknown> = Object.fromEntries(jobFieldNames.map((name) => [name, null]));
  for (const { changes } of items.toReversed() as {
    changes: Record<string, { from: unknown; to: unknown }>;
  }[]) {
    for (const [name, { from, to }] of Object.entries(changes)) {
      expect(from).toEqual(state[name]);
      state[name] = to;
    }
  }
  expect(model).toMatchObject(state);
}
