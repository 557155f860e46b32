import { describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchBatch, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();

const send = (body: string) => app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body });

const failed = (error_code: string, error: unknown, error_details: object[] | null = null) => ({
  success: false,
  error,
  error_code,
  error_details,
});
const notFound = failed("NotFoundException", "Delivery job not found");
const nothing = failed("BadRequestException", "No editable fields were provided");
const invalid = (...problems: [field: string, code: string][]) =>
  failed(
    "BadRequestException",
    expect.any(String),
    problems.map(([field, code]) => ({ field, code })),
  );

describe("200 with one result per item, in order", () => {
  it("when some items fail, without affecting others", async () => {
    const [one = "", two = "", three = ""] = await app.createJobs(agent, 3);
    const [foreign = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
    const items = [
      { marking_number: one, weight: 1 },
      { marking_number: "NO-SUCH-JOB", weight: 1 },
      { marking_number: two, normalized_status: "unheard_of", weight: 1 },
      { marking_number: foreign, weight: 1 },
      { marking_number: two, weight: "1", piece_quantity: 0 },
      { marking_number: three },
      { marking_number: three, provider_status: "X" },
      { marking_number: three, labels: "last" },
    ];
    const { updated_count, failed_count, results } = expectData(await patchBatch(app, agent, items));
    expect({ updated_count, failed_count }).toEqual({ updated_count: 2, failed_count: 6 });
    const expected = [
      { success: true },
      notFound,
      invalid(["jobs[2].normalized_status", "unknown_status"]),
      notFound,
      invalid(["jobs[4].piece_quantity", "too_small"], ["jobs[4].weight", "invalid_type"]),
      nothing,
      nothing,
      { success: true },
    ];
    expect(results).toMatchObject(
      expected.map((result, index) => ({ marking_number: items[index]?.marking_number, ...result })),
    );
    expect(Object.keys(results[1])).toEqual(Object.keys(results[3]));
    expect(expectData(await getJob(app, agent, two)).weight).toBeNull();
  });

  it("with the ignored keys of the body and of all items in X-Ignored-Fields, each once", async () => {
    const [one, two] = await app.createJobs(agent, 2);
    const jobs = [
      { marking_number: one, weight: 1, id: "x", colour: 1 },
      { marking_number: two, weight: 1, colour: 2, size: 3 },
    ];
    const response = await send(JSON.stringify({ dry_run: true, jobs }));
    expect(expectData(response).updated_count).toBe(2);
    expect(response.headers.get("x-ignored-fields")).toBe("dry_run, id, colour, size");
  });
});

describe("400 for a whole batch, with no change", () => {
  it.each([
    ["{}", ["jobs"]],
    ['{"jobs":null}', ["jobs"]],
    ['{"jobs":{}}', ["jobs"]],
    ['{"jobs":[]}', ["jobs"]],
    ['{"Jobs":[{"marking_number":"x","weight":1}]}', ["jobs"]],
    ["[]", [""]],
    ["null", [""]],
  ])("for the body %s", async (body, fields) => {
    expectProblems(await send(body), "body", fields);
  });

  it("naming every item that is no object or has no valid Marking Number", async () => {
    const number = await app.createJob(agent);
    const items = [
      "null",
      "7",
      '{"weight":1}',
      '{"marking_number":5}',
      '{"marking_number":""}',
      String.raw`{"marking_number":"\u0000"}`,
      String.raw`{"marking_number":"\ud800"}`,
    ];
    const fields = items.map((_, index) => `jobs[${index + 1}]${index < 2 ? "" : ".marking_number"}`);
    const body = `{"jobs":[{"marking_number":"${number}","weight":1},${items.join(",")}]}`;
    expectProblems(await send(body), "body", fields);
    expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
  });

  it("names an unknown status together with a missing Marking Number and a malformed parameter", async () => {
    const jobs = [
      { weight: 1, normalized_status: "unheard_of" },
      { marking_number: "x", piece_quantity: 0 },
    ];
    const response = await patchBatch(app, { ...agent, query: "dry_run=maybe" }, jobs);
    const details = expectFailure(response, 400).details as { field: string }[];
    expect(details.map(({ field }) => field)).toEqual([
      "dry_run",
      "jobs[0].marking_number",
      "jobs[0].normalized_status",
      "jobs[1].piece_quantity",
    ]);
  });
});

const resultsOf = async (response: ReturnType<typeof patchBatch>) => expectData(await response).results;

describe("a batch with an expected version, or for all jobs or none", () => {
  it("with on_error=stop_all an item that an earlier one changes names the version that exists", async () => {
    const one = await app.createJob(agent);
    const jobs = [1, 2, 1].map((version) => ({
      marking_number: one,
      if_version: version,
      weight: version + 4,
    }));
    const body = JSON.stringify({ jobs });
    const path = "/v1/jobs/batch?on_error=stop_all";
    const { results } = expectData(await app.call(path, { key: agent.key, method: "PATCH", body }));
    expect(results).toMatchObject([
      { error: "Not applied, because another item failed" },
      { error: "Not applied, because another item failed" },
      {
        current_version: 1,
        error: "The job is at version 1, and an earlier item of this request changes it",
      },
    ]);
    expect(expectData(await getJob(app, agent, one)).version).toBe(1);
  });

  it("with on_error=stop_all an item that only later ones change does not name an earlier one", async () => {
    const one = await app.createJob(agent);
    const jobs = [
      { marking_number: one, if_version: 7, weight: 5 },
      { marking_number: one, weight: 6 },
    ];
    const body = JSON.stringify({ jobs });
    const path = "/v1/jobs/batch?on_error=stop_all";
    const { results } = expectData(await app.call(path, { key: agent.key, method: "PATCH", body }));
    expect(results).toMatchObject([
      { current_version: 1, error: "The job is at version 1, not at the expected one" },
      { error: "Not applied, because another item failed" },
    ]);
  });

  it("if_version in a PATCH of one job returns 400 and names If-Match, with the other problems", async () => {
    const one = await app.createJob(agent);
    const valid = await patchJob(app, agent, one, { weight: 2, if_version: 1 });
    expectProblems(valid, "body", ["if_version"]);
    expect(valid.body.error?.message).toContain("send the version as If-Match");
    const heavy = await patchJob(app, agent, one, { weight: "heavy", if_version: 1 });
    expectProblems(heavy, "body", ["if_version", "weight"]);
    expect(expectData(await getJob(app, agent, one)).version).toBe(1);
  });

  it.each(["1", 1.5, 0, null])("if_version %j is a problem of its item", async (version) => {
    const one = await app.createJob(agent);
    const [result] = await resultsOf(
      patchBatch(app, agent, [{ marking_number: one, if_version: version, weight: 5 }]),
    );
    expect(result).toMatchObject({
      success: false,
      error_code: "BadRequestException",
      error_details: [{ location: "body", field: "jobs[0].if_version" }],
    });
    expect(expectData(await getJob(app, agent, one)).version).toBe(1);
  });

  it("If-Match returns 400, says what to do instead, and changes nothing", async () => {
    const one = await app.createJob(agent);
    const headers = { "if-match": '"1"' };
    const { status, body } = await patchBatch(app, { ...agent, headers }, [
      { marking_number: one, weight: 5 },
    ]);
    expect([status, body.error?.details]).toEqual([
      400,
      [
        {
          location: "header",
          field: "If-Match",
          code: "not_supported",
          message: "is for one job; give each item of a batch its version as if_version",
        },
      ],
    ]);
    expect(expectData(await getJob(app, agent, one)).version).toBe(1);
  });
});

const text = (max: number): string => `"${String.raw`\ud83d\udce6`.repeat(max)}"`;

it("a batch may have 100 jobs with all texts at maximum length, escaped", async () => {
  const longNumbers = Array.from(
    { length: 100 },
    (_, index) => "📦".repeat(117) + String(index).padStart(3, "0"),
  );
  await app.createJobs(
    agent,
    longNumbers.map((markingNumber) => ({ markingNumber })),
  );
  const fields = `"batch_number":${text(120)},"group_code":${text(120)},"labels":${text(255)},"recipient_name":${text(255)},
    "recipient_contact":${text(255)},"delivery_address":${text(1000)},"postal_code":${text(60)},
    "instructions":${text(1000)},"failure_reason":${text(64)}`;
  const items = longNumbers.map(
    (number) => `{"marking_number":"${number.replaceAll("📦", String.raw`\ud83d\udce6`)}",${fields}}`,
  );
  const body = `{"jobs":[${items.join(",")}]}`;
  expect(body.length).toBeGreaterThan(3_900_000);
  const data = expectData(await app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body }));
  expect(data).toMatchObject({ updated_count: 100, failed_count: 0 });
  expect(data.results[99].job.delivery_address).toBe("📦".repeat(1000));
});
