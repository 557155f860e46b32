/** Batches that change a job only if it has the expected version, or all jobs or none. */
import { beforeAll, expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { getJob, patchBatch, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

const newJobs = (count: number): Promise<string[]> =>
  app.createJobs(
    agent,
    Array.from({ length: count }, () => ({})),
  );

const resultsOf = async (response: ReturnType<typeof patchBatch>) => expectData(await response).results;

it("an item with another version than that of the job fails, and changes nothing", async () => {
  const [one = "", two = ""] = await newJobs(2);
  await patchJob(app, agent, one, { weight: 1 });
  const results = await resultsOf(
    patchBatch(app, agent, [
      { marking_number: one, if_version: 1, weight: 5 },
      { marking_number: two, if_version: 1, weight: 5 },
      { marking_number: two, if_version: 2, weight: 6 },
    ]),
  );
  expect(results).toMatchObject([
    {
      success: false,
      error_code: "PreconditionFailedException",
      error: expect.stringContaining("version 2"),
    },
    { success: true, job: { weight: 5, version: 2 } },
    { success: true, job: { weight: 6, version: 3 } },
  ]);
  expect(expectData(await getJob(app, agent, one)).weight).toBe(1);
});

it.each(["1", 1.5, 0, null])("if_version %j is a problem of its item", async (version) => {
  const [one = ""] = await newJobs(1);
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

it("with on_error=stop_all one failed item of a hundred leaves all jobs as they are", async () => {
  const numbers = await newJobs(100);
  const jobs = numbers.map((number, index) => ({
    marking_number: number,
    weight: index === 99 ? "heavy" : 7,
  }));
  const query = "on_error=stop_all";
  const { updated_count, failed_count, results } = expectData(
    await patchBatch(app, { ...agent, query }, jobs),
  );
  expect([updated_count, failed_count]).toEqual([0, 100]);
  expect(results[0]).toMatchObject({
    success: false,
    error_code: "ConflictException",
    error: "Not applied, because another item failed",
  });
  expect(results[99]).toMatchObject({ success: false, error_code: "BadRequestException" });
  const [first = ""] = numbers;
  expect(expectData(await getJob(app, agent, first)).version).toBe(1);

  const valid = jobs.slice(0, 99);
  expect(expectData(await patchBatch(app, { ...agent, query }, valid)).updated_count).toBe(99);
});

it("If-Match returns 400, says what to do instead, and changes nothing", async () => {
  const [one = ""] = await newJobs(1);
  const headers = { "if-match": '"1"' };
  const { status, body } = await patchBatch(app, { ...agent, headers }, [{ marking_number: one, weight: 5 }]);
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
