import { describe, expect, it } from "vitest";
import { jobFieldNames, type JobPatch } from "../../src/jobs/fields.ts";
import { expectData, expectFailure, expectProblems, withoutRequestId } from "../support/app/assertions.ts";
import { filledPatch as filled, getJob, historyOf, patchJob } from "../support/app/job-client.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent, contractor } = useSharedApp();

/** Creates a job of `agent`, assigned to `contractor`. */
const newJob = (patch: JobPatch = {}): Promise<string> => app.createJob(agent, { contractor, patch });

/** The members that every change increases. */
const nextVersion = (before: Record<string, unknown>, after: Record<string, unknown>) => ({
  version: (before["version"] as number) + 1,
  updated_at: after["updated_at"],
});

describe("200 with the updated job", () => {
  it("is tested with a value for every editable field", () => {
    expect(Object.keys(filled)).toEqual(jobFieldNames);
  });

  it.each(Object.entries(filled))("sets %s and changes no other field", async (name, value) => {
    const number = await newJob();
    const before = expectData(await getJob(app, agent, number));
    const after = expectData(await patchJob(app, contractor, number, { [name]: value }));
    expect(after).toEqual({ ...before, [name]: value, ...nextVersion(before, after) });
  });
});

describe("an update without a change", () => {
  it.each([
    ["the same values", filled],
    ["a number in another notation", '{"weight":825e-2,"piece_quantity":3.0}'],
  ])("succeeds with %s: same version and updated_at, no event", async (_, body) => {
    const number = await newJob(filled);
    const before = await getJob(app, agent, number);
    const events = await historyOf(app, agent, number);
    const after = await patchJob(app, agent, number, body);
    expect(expectData(after)).toEqual(before.body.data);
    expect(after.headers.get("etag")).toBe(before.headers.get("etag"));
    expect(await historyOf(app, agent, number)).toEqual(events);
  });

  it("is recognised for numbers that PostgreSQL and JavaScript format differently", async () => {
    // PostgreSQL formats it as 24188385473180312: the same double.
    const number = await newJob({ pts: 24188385473180310 });
    const before = await getJob(app, agent, number);
    const after = await patchJob(app, agent, number, { pts: 24188385473180310 });
    expect(expectData(after)).toEqual(before.body.data);
    expect(after.headers.get("etag")).toBe(before.headers.get("etag"));
  });
});

describe("unknown and read-only keys", () => {
  // evidence: patch-ignores-read-only-fields
  it("are ignored and listed in X-Ignored-Fields", async () => {
    const number = await newJob();
    const before = expectData(await getJob(app, agent, number));
    const body = {
      weight: 2,
      id: "job_1",
      marking_number: "other",
      provider_status: "X",
      created_at: "2020-01-01T00:00:00Z",
      updated_at: "2020-01-01T00:00:00Z",
      agent_id: agent.id,
      version: 9,
      colour: { deep: [1] },
      ["__proto__"]: { weight: 4 },
    };
    const response = await patchJob(app, agent, number, body);
    expect(expectData(response)).toEqual({
      ...before,
      weight: 2,
      ...nextVersion(before, response.body.data),
    });
    expect(response.headers.get("x-ignored-fields")).toBe(
      "id, marking_number, provider_status, created_at, updated_at, agent_id, version, colour, __proto__",
    );
  });

  // evidence: ignored-fields-header-encoded
  it("are percent-encoded in the header if necessary", async () => {
    const response = await patchJob(
      app,
      agent,
      await newJob(),
      '{"weight":3,"größe":1,"a, b":1,"\\r\\nX: y":1,"\\ud800":1}',
    );
    expectData(response);
    expect(response.headers.get("x-ignored-fields")).toBe(
      "gr%C3%B6%C3%9Fe, a%2C%20b, %0D%0AX%3A%20y, %EF%BF%BD",
    );
  });

  it("are omitted from the header if it would be too long", async () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => ["字".repeat(98) + index, 1]));
    const response = await patchJob(app, agent, await newJob(), { weight: 3, ...many });
    expectData(response);
    expect(response.headers.get("x-ignored-fields")?.length).toBeLessThan(8_192);
  });

  it.each([
    {},
    { provider_status: "x", marking_number: "y", unknown: null },
    JSON.parse('{"__proto__":{"weight":1}}'),
  ])("return 400 if no editable field remains: %j", async (body) => {
    const number = await newJob();
    const error = expectFailure(
      await patchJob(app, agent, number, body),
      400,
      "No editable fields were provided",
    );
    expect(error.details).toBeNull();
    expect(await historyOf(app, agent, number)).toHaveLength(2);
  });
});

// evidence: update-job-hides-other-organizations
it("returns 404 for another agent's, another contractor's and a reassigned job, as for an unknown one", async () => {
  const [foreign] = await app.createJobs(await app.createOrganization("agent"), [
    { contractor: await app.createOrganization("contractor") },
  ]);
  const lost = await newJob();
  await app.createJobs(agent, [
    { markingNumber: lost, contractor: await app.createOrganization("contractor") },
  ]);

  const none = await patchJob(app, contractor, "NO-SUCH-JOB", { weight: 1 });
  expectFailure(none, 404, "Delivery job not found");
  for (const number of [foreign as string, lost]) {
    expect(withoutRequestId(await patchJob(app, contractor, number, { weight: 1 }))).toEqual(
      withoutRequestId(none),
    );
    const options = { headers: { "if-match": '"1"' } };
    expect(
      withoutRequestId(await patchJob(app, { ...contractor, ...options }, number, { weight: 1 })),
    ).toEqual(withoutRequestId(none));
  }
  expect(expectData(await getJob(app, agent, lost)).weight).toBeNull();
});

/** Creates a job at version 3. */
async function jobAtVersion3(): Promise<string> {
  const number = await app.createJob(agent);
  expectData(await patchJob(app, agent, number, { piece_quantity: 1 }));
  expectData(await patchJob(app, agent, number, { piece_quantity: 2 }));
  return number;
}

function patchIf(number: string, tag: string, body: unknown = { piece_quantity: 9 }): Promise<ApiResponse> {
  return patchJob(app, { ...agent, headers: { "if-match": tag } }, number, body);
}

it.each(['"3"', "*", '"1", "3"', 'W/"9", "3"'])(
  "200 if If-Match is %s and the job is at version 3",
  async (tag) => {
    const number = await jobAtVersion3();
    const response = await patchIf(number, tag);
    expect(expectData(response).piece_quantity).toBe(9);
    expect(response.headers.get("etag")).toBe('"4"');
  },
);

describe("412 with the current ETag if If-Match names another version, and no change", () => {
  it.each(['"2"', '"1", "4"', 'W/"3"', '"03"', '"x"', '"99999999999999999999"', '"a,3"'])(
    "for %s",
    async (tag) => {
      const number = await jobAtVersion3();
      const error = expectFailure(await patchIf(number, tag), 412);
      expect(error.details).toEqual({ current_etag: '"3"' });
      const job = await getJob(app, agent, number);
      expect({ pieces: job.body.data.piece_quantity, etag: job.headers.get("etag") }).toEqual({
        pieces: 2,
        etag: '"3"',
      });
    },
  );

  it("also for an update that would change nothing", async () => {
    expectFailure(await patchIf(await jobAtVersion3(), '"2"', { piece_quantity: 2 }), 412);
  });
});

it.each(["3", "", '"3', '"3" "4"', '*, "3"', 'w/"3"'])(
  "400 for the malformed If-Match %s, and no change",
  async (tag) => {
    const number = await jobAtVersion3();
    const [problem] = expectProblems(await patchIf(number, tag), "header", ["If-Match"]);
    expect(problem?.code).toBe("malformed");
    expect((await getJob(app, agent, number)).body.data.piece_quantity).toBe(2);
  },
);
