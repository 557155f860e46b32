import { describe, expect, it } from "vitest";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { getJob, historyOf, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent, contractor } = useSharedApp();

/** Creates a job at version 2. */
const newJob = (): Promise<string> => app.createJob(agent, { contractor });

it("a misspelt dry_run is 400 with the right name, among the other problems, and changes nothing", async () => {
  const number = await newJob();
  const before = await getJob(app, agent, number);
  const misspelt = { ...agent, query: "dryrun=true&x=1" };
  const response = await patchJob(app, misspelt, number, { weight: 7, pts: "x" });
  expect(expectFailure(response, 400).details).toEqual([
    {
      location: "query",
      field: "dryrun",
      code: "unknown_parameter",
      message: "is not a known parameter; did you mean dry_run?",
    },
    {
      location: "query",
      field: "x",
      code: "unknown_parameter",
      message: "is not a known parameter; must be one of dry_run",
    },
    expect.objectContaining({ location: "body", field: "pts" }),
  ]);
  const batch = await app.call("/v1/jobs/batch?on_eror=stop_all", {
    method: "PATCH",
    key: agent.key,
    body: JSON.stringify({ jobs: [{ marking_number: number, weight: 7 }] }),
  });
  expect(expectFailure(batch, 400).message).toBe("on_eror is not a known parameter; did you mean on_error?");
  expect((await getJob(app, agent, number)).body.data).toEqual(before.body.data);
});

describe("dry_run of one job", () => {
  it("returns the result and changes nothing", async () => {
    const number = await newJob();
    const before = await getJob(app, agent, number);
    const events = await historyOf(app, agent, number);
    const response = await patchJob(app, { ...agent, query: "dry_run=true" }, number, { weight: 7, x: 1 });
    expect(expectData(response)).toEqual({
      ...before.body.data,
      weight: 7,
      version: 3,
      updated_at: response.body.data.updated_at,
    });
    expect(response.headers.has("etag")).toBe(false);
    expect(response.headers.get("x-ignored-fields")).toBe("x");

    const after = await getJob(app, agent, number);
    expect({ data: after.body.data, etag: after.headers.get("etag") }).toEqual({
      data: before.body.data,
      etag: '"2"',
    });
    expect(await historyOf(app, agent, number)).toEqual(events);
  });

  it("returns the ETag if the job would stay unchanged", async () => {
    const number = await newJob();
    const dry = { ...agent, query: "dry_run=true" };
    expect((await patchJob(app, dry, number, { weight: null })).headers.get("etag")).toBe('"2"');
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
