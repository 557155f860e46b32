import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();
let number: string;

beforeAll(async () => {
  number = await app.createJob(agent);
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
  for (const json of values)
    expectProblems(await patchJob(app, agent, number, `{"${field}":${json}}`), "body", [field]);
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

/** `test/unit/jobs/values.test.ts` has the rules of each kind of value. */
describe("the values of a patch", () => {
  it.each(Object.entries(texts))("%s: text of at most %i code points", async (field, max) => {
    expect(await set(field, JSON.stringify("📦".repeat(max)))).toBe("📦".repeat(max));
    await expectRefused(field, JSON.stringify("📦".repeat(max + 1)), String.raw`"\u0000"`, "1");
  });

  it.each(["", "  a\t\n", "null", "\u0001\u007f\u200b\ufffe\uffff", "'; drop table job --", '\\u0000"{}'])(
    "stores any text and does not trim it: %j",
    async (text) => {
      expect(await set("labels", JSON.stringify(text))).toBe(text);
    },
  );

  it.each([
    ["piece_quantity", "9007199254740993", "must be at most 2147483647"],
    ["piece_quantity", "-9007199254740993", "must be at least 1"],
    ["piece_quantity", "1e400", "must be an integer or null"],
    ["piece_quantity", "1.5", "must be a whole number or null"],
    ["scheduled_date", '"0000-00-00"', "must be a calendar date, YYYY-MM-DD"],
    ["scheduled_date", '"0000-01-01"', "must be in the years 0001 to 9999"],
    ["weight", '"1"', "must be a number or null"],
    ["scheduled_delivery_pending", "1", "must be true or false"],
  ])("names one problem: %s of %s %s", async (field, json, message) => {
    const response = await patchJob(app, agent, number, `{"${field}":${json}}`);
    const details = expectFailure(response, 400, `${field} ${message}`).details as { message: string }[];
    expect(details.map((detail) => detail.message)).toEqual([message]);
  });

  it("returns 400 for a status that is no known code", async () => {
    await expectRefused("normalized_status", "null", "1", '""', `"${"x".repeat(65)}"`);
    for (const code of ["unheard_of", "COMPLETED", " completed"]) {
      const response = await patchJob(app, agent, number, { normalized_status: code });
      const [problem] = expectProblems(response, "body", ["normalized_status"]);
      expect(problem?.code).toBe("unknown_status");
    }
  });

  it("returns 400 with the problems of path, query, header and body together, and changes nothing", async () => {
    const before = await getJob(app, agent, number);
    const options = { headers: { "if-match": "3" }, query: "dry_run=maybe" };
    const body = { normalized_status: "unheard_of", weight: "1", labels: 5, recipient_name: "fine" };
    const problems = async (markingNumber: string): Promise<string[]> => {
      const response = await patchJob(app, { ...agent, ...options }, markingNumber, body);
      const details = expectFailure(response, 400).details as { location: string; field: string }[];
      return details.map(({ location, field }) => `${location} ${field}`).toSorted();
    };
    const others = [
      "body labels",
      "body normalized_status",
      "body weight",
      "header If-Match",
      "query dry_run",
    ];
    expect(await problems(number)).toEqual(others);
    expect(await problems("x".repeat(121))).toEqual([...others, "path markingNumber"].toSorted());
    expect((await getJob(app, agent, number)).body.data).toEqual(before.body.data);
  });

  it("a job with all texts at maximum length, escaped, fits into one body", async () => {
    const escaped = Object.entries(texts).map(
      ([field, max]) => `"${field}":"${String.raw`\ud83d\udce6`.repeat(max)}"`,
    );
    const job = expectData(await patchJob(app, agent, number, `{${escaped.join(",")}}`));
    for (const [field, max] of Object.entries(texts)) expect(job[field]).toBe("📦".repeat(max));
  });
});
