import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchBatch } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

function newJobs(count: number): Promise<string[]> {
  return app.createJobs(
    agent,
    Array.from({ length: count }, () => ({})),
  );
}

describe("400 for a whole batch, with no change", () => {
  it.each([
    ["{}", ["jobs"]],
    ['{"jobs":null}', ["jobs"]],
    ['{"jobs":{}}', ["jobs"]],
    ['{"jobs":"x"}', ["jobs"]],
    ['{"jobs":[]}', ["jobs"]],
    ['{"Jobs":[{"marking_number":"x","weight":1}]}', ["jobs"]],
    ["[]", [""]],
    ["null", [""]],
    ['"jobs"', [""]],
    ["5", [""]],
  ])("for the body %s", async (body, fields) => {
    const response = await app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body });
    expectProblems(response, "body", fields);
  });

  it.each([
    ["null", "jobs[1]"],
    ["[]", "jobs[1]"],
    ['"MN"', "jobs[1]"],
    ["7", "jobs[1]"],
    ['{"weight":1}', "jobs[1].marking_number"],
    ['{"weight":1,"marking_number":null}', "jobs[1].marking_number"],
    ['{"weight":1,"marking_number":5}', "jobs[1].marking_number"],
    ['{"weight":1,"marking_number":["MN"]}', "jobs[1].marking_number"],
    ['{"weight":1,"marking_number":""}', "jobs[1].marking_number"],
    [`{"weight":1,"marking_number":"${"x".repeat(121)}"}`, "jobs[1].marking_number"],
    [String.raw`{"weight":1,"marking_number":"\u0000"}`, "jobs[1].marking_number"],
    [String.raw`{"weight":1,"marking_number":"\ud800"}`, "jobs[1].marking_number"],
  ])("for an item with %s", async (item, field) => {
    const [number = ""] = await newJobs(1);
    const body = `{"jobs":[{"marking_number":"${number}","weight":1},${item}]}`;
    expectProblems(await app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body }), "body", [
      field,
    ]);
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

  it("names every invalid item", async () => {
    expectProblems(await patchBatch(app, agent, [1, { weight: 1 }, { marking_number: "" }, null]), "body", [
      "jobs[0]",
      "jobs[1].marking_number",
      "jobs[2].marking_number",
      "jobs[3]",
    ]);
  });
});
