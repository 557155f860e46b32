import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import {
  getJob,
  jobPath,
  listJobs,
  markingNumbersOf,
  patchBatch,
  patchJob,
} from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

/** Creates jobs at version 2. */
async function newJobs(count: number): Promise<string[]> {
  const contractor = await app.createOrganization("contractor");
  return await app.createJobs(
    agent,
    Array.from({ length: count }, () => ({ contractor })),
  );
}

async function newJob(): Promise<string> {
  const [number] = await newJobs(1);
  return number as string;
}

function withoutTimes(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replaceAll(/"updated_at":"[^"]*"/g, '"updated_at":""'));
}

async function eventsOf(number: string): Promise<number> {
  return expectData(await app.call(`${jobPath(number)}/history`, { key: agent.key })).pagination
    .total as number;
}

describe("dry_run of one job", () => {
  it("returns the result and changes nothing", async () => {
    const number = await newJob();
    const before = await getJob(app, agent, number);
    const events = await eventsOf(number);
    const response = await patchJob(app, { ...agent, query: "dry_run=true" }, number, { weight: 7, x: 1 });
    expect(expectData(response)).toEqual({
      ...before.body.data,
      weight: 7,
      updated_at: response.body.data.updated_at,
    });
    expect(response.headers.has("etag")).toBe(false);
    expect(response.headers.get("x-ignored-fields")).toBe("x");

    const after = await getJob(app, agent, number);
    expect({ data: after.body.data, etag: after.headers.get("etag") }).toEqual({
      data: before.body.data,
      etag: '"2"',
    });
    expect(await eventsOf(number)).toBe(events);
  });

  it("returns the ETag if the job would stay unchanged", async () => {
    const number = await newJob();
    const dry = { ...agent, query: "dry_run=true" };
    expect((await patchJob(app, dry, number, { weight: null })).headers.get("etag")).toBe('"2"');
  });

  it("does not change the exact total", async () => {
    const number = await newJob();
    const total = async (): Promise<number> =>
      expectData(await app.call("/v1/jobs?normalized_status=completed", { key: agent.key })).pagination
        .total as number;
    const before = await total();
    expectData(
      await patchJob(app, { ...agent, query: "dry_run=true" }, number, { normalized_status: "completed" }),
    );
    expect(await total()).toBe(before);
  });

  it("is off for dry_run=false", async () => {
    const number = await newJob();
    expectData(await patchJob(app, { ...agent, query: "dry_run=false" }, number, { weight: 7 }));
    expect(expectData(await getJob(app, agent, number)).weight).toBe(7);
  });

  it.each(["dry_run=1", "dry_run=TRUE", "dry_run=", "dry_run=true&dry_run=true"])(
    "returns 400 for a malformed %s",
    async (query) => {
      const number = await newJob();
      expectFailure(await patchJob(app, { ...agent, query }, number, { weight: 7 }), 400);
      expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
    },
  );

  it("returns 400, 404 and 412 like a real update", async () => {
    const number = await newJob();
    const options = { query: "dry_run=true" };
    expectFailure(await patchJob(app, { ...agent, ...options }, number, { weight: "7" }), 400);
    expectFailure(await patchJob(app, { ...agent, ...options }, "someone-else's", { weight: 7 }), 404);
    expectFailure(
      await patchJob(app, { ...agent, ...options, headers: { "if-match": '"9"' } }, number, { weight: 7 }),
      412,
    );
  });
});

describe("dry_run of a batch", () => {
  it("returns the result and changes nothing", async () => {
    const [one = "", two = ""] = await newJobs(2);
    const items = [
      { marking_number: one, piece_quantity: 1 },
      { marking_number: one, labels: "x" },
      { marking_number: two, normalized_status: "completed" },
      { marking_number: "NO-SUCH-JOB", weight: 1 },
      { marking_number: two, weight: "1" },
    ];
    const dry = expectData(await patchBatch(app, { ...agent, query: "dry_run=true" }, items));
    expect(dry).toMatchObject({ updated_count: 3, failed_count: 2 });
    expect(dry.results[1].job).toMatchObject({ piece_quantity: 1, labels: "x" });
    for (const number of [one, two]) {
      expect((await getJob(app, agent, number)).headers.get("etag")).toBe('"2"');
      expect(
        expectData(await app.call(`${jobPath(number)}/history`, { key: agent.key })).pagination.total,
      ).toBe(2);
    }
    expect(markingNumbersOf(await listJobs(app, agent, "normalized_status=completed"))).not.toContain(two);

    const done = expectData(await patchBatch(app, agent, items));
    expect(withoutTimes(done)).toEqual(withoutTimes(dry));
  });

  it("returns 400 for a malformed batch", async () => {
    const [number] = await newJobs(1);
    const response = await patchBatch(app, { ...agent, query: "dry_run=yes" }, [
      { marking_number: number, weight: 1 },
    ]);
    expectProblems(response, "query", ["dry_run"]);
  });
});
