import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let number: string;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  [number = ""] = await app.createJobs(agent, [{}]);
});

/** Sets `field` to the JSON text `json` and returns its value in a new read. */
async function set(field: string, json: string): Promise<unknown> {
  const patched = expectData(await patchJob(app, agent, number, `{"${field}":${json}}`))[field] as unknown;
  expect(expectData(await getJob(app, agent, number))[field]).toEqual(patched);
  return patched;
}

/** Expects that each value is refused, and that the job stays the same. */
async function expectRefused(field: string, ...values: string[]): Promise<void> {
  const before = await getJob(app, agent, number);
  for (const json of values) {
    const response = await patchJob(app, agent, number, `{"${field}":${json}}`);
    const [problem] = expectProblems(response, "body", [field]);
    expect(problem?.message).not.toBe("");
  }
  expect((await getJob(app, agent, number)).body.data).toEqual(before.body.data);
}

const texts = {
  batch_number: 120,
  group_code: 120,
  labels: 255,
  recipient_name: 255,
  recipient_contact: 255,
  delivery_address: 1000,
  postal_code: 60,
  instructions: 1000,
  failure_reason: 64,
};

describe("the values of a patch", () => {
  describe.each(Object.entries(texts))("%s: text of at most %i code points", (field, max) => {
    it("accepts the longest; a surrogate pair counts as one", async () => {
      for (const text of ["x".repeat(max), "📦".repeat(max), "é".repeat(max)]) {
        expect(await set(field, JSON.stringify(text))).toBe(text);
      }
    });

    it("returns 400 for one code point more", async () => {
      // The last has two code points for what looks like one character.
      const tooLong = ["x".repeat(max + 1), "📦".repeat(max + 1), "e\u0301".repeat(max / 2 + 1)];
      await expectRefused(field, ...tooLong.map((text) => JSON.stringify(text)));
    });

    it("accepts any text and does not trim it", async () => {
      for (const text of [
        "",
        " ",
        "  a\t\n",
        "null",
        "\u0001\u007f\u200b\ufffe\uffff",
        "'; drop table job --",
        "\\u0000",
        '"{}[]',
      ]) {
        expect(await set(field, JSON.stringify(text))).toBe(text);
      }
    });

    it("returns 400 for U+0000 and lone surrogates", async () => {
      await expectRefused(
        field,
        String.raw`"\u0000"`,
        String.raw`"a\u0000b"`,
        String.raw`"\ud800"`,
        String.raw`"\udc00\ud800"`,
      );
    });

    it("returns 400 for other types", async () => {
      await expectRefused(field, "1", "true", "[]", "{}", '["a"]', '{"toString":"a"}');
    });
  });

  it.each([
    ["piece_quantity", "9007199254740993", "must be at most 2147483647"],
    ["piece_quantity", "-9007199254740993", "must be at least 1"],
    ["piece_quantity", "1e400", "must be an integer or null"],
    ["piece_quantity", "9007199254740993.5", "must be at most 2147483647"],
    ["piece_quantity", "1.5", "must be a whole number or null"],
    ["scheduled_date", '"0000-00-00"', "must be a calendar date, YYYY-MM-DD"],
    ["scheduled_date", '"0000-01-01"', "must be in the years 0001 to 9999"],
  ])("names one problem: %s of %s %s", async (field, json, message) => {
    const response = await patchJob(app, agent, number, `{"${field}":${json}}`);
    const details = expectFailure(response, 400).details as { message: string }[];
    expect(details.map((detail) => detail.message)).toEqual([message]);
  });

  describe("normalized_status: a known code", () => {
    it.each(["null", "1", "true", "[]", '""', `"${"x".repeat(65)}"`])("returns 400 for %s", async (json) => {
      await expectRefused("normalized_status", json);
    });

    it.each(["unheard_of", "COMPLETED", " completed", "complet\u0435d"])(
      "returns 400 for an unknown status: %j",
      async (code) => {
        const [problem] = expectProblems(
          await patchJob(app, agent, number, { normalized_status: code }),
          "body",
          ["normalized_status"],
        );
        expect(problem?.code).toBe("unknown_status");
      },
    );
  });

  it("returns 400 with the problems of path, query, header and body together, including an unknown status", async () => {
    const options = { headers: { "if-match": "3" }, query: "dry_run=maybe" };
    const body = { normalized_status: "unheard_of", weight: "1" };
    const problems = async (markingNumber: string): Promise<string[]> => {
      const response = await patchJob(app, { ...agent, ...options }, markingNumber, body);
      const details = expectFailure(response, 400).details as { location: string; field: string }[];
      return details.map(({ location, field }) => `${location} ${field}`);
    };
    const others = ["header If-Match", "query dry_run", "body weight", "body normalized_status"];
    expect(await problems(number)).toEqual(others);
    expect(await problems("x".repeat(121))).toEqual(["path markingNumber", ...others]);
  });

  it("returns 400 with all problems, and changes nothing", async () => {
    const body = {
      weight: "1",
      piece_quantity: 0,
      scheduled_date: "2026-02-30",
      normalized_status: "nope",
      labels: 5,
      recipient_name: "fine",
      scheduled_delivery_pending: null,
    };
    const before = await getJob(app, agent, number);
    const response = await patchJob(app, agent, number, body);
    const wrong = [
      "weight",
      "piece_quantity",
      "scheduled_date",
      "normalized_status",
      "labels",
      "scheduled_delivery_pending",
    ];
    expectProblems(response, "body", wrong);
    expect((await getJob(app, agent, number)).body.data).toEqual(before.body.data);
  });

  it("returns 400 that names the field, the problem, and null if that is allowed", async () => {
    expectFailure(
      await patchJob(app, agent, number, { weight: "1" }),
      400,
      "weight must be a number or null",
    );
    expectFailure(
      await patchJob(app, agent, number, { scheduled_delivery_pending: 1 }),
      400,
      /^scheduled_delivery_pending must be true or false$/,
    );
    expectFailure(
      await patchJob(app, agent, number, { piece_quantity: 0 }),
      400,
      /^piece_quantity must be at least 1$/,
    );
  });

  it("a job with all texts at maximum length, escaped, fits into one body", async () => {
    const escaped = Object.entries(texts).map(
      ([field, max]) => `"${field}":"${String.raw`\ud83d\udce6`.repeat(max)}"`,
    );
    const job = expectData(await patchJob(app, agent, number, `{${escaped.join(",")}}`));
    for (const [field, max] of Object.entries(texts)) expect(job[field]).toBe("📦".repeat(max));
  });
});
