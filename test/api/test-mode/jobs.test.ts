/** Test jobs: created, run through their life and deleted with a test key. */
import { afterAll, describe, expect, it } from "vitest";
import { startTestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectFailure, expectProblems } from "../../support/app/assertions.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { queryData } from "../../support/graphql/client.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", MONGODB_URL: createTestMongo().url });
afterAll(() => app[Symbol.asyncDispose]());
const agent = await app.createOrganization("agent");
/** Test keys of `agent`'s two sides. */
const key = await createTestKey(agent, "agent");
const contractorKey = await createTestKey(agent, "contractor");

function createTestKey({ id }: TestOrganization, testSide: "agent" | "contractor"): Promise<string> {
  return app.createKey(id, { testSide });
}

const post = (path: string, body?: object, { as = key, headers = {} } = {}) =>
  app.call(path, { key: as, method: "POST", headers, ...(body && { body: JSON.stringify(body) }) });
const runPath = (number: string): string => `/v1/test/jobs/by-marking/${number}/run`;

const reassign = (number: string, body: object, options = {}) =>
  post(`/v1/test/jobs/by-marking/${number}/reassign`, body, options);
/** The statuses that a key of each side gets for the job. */
const visibility = async (number: string): Promise<number[]> =>
  Promise.all(
    [key, contractorKey].map(
      async (each) => (await app.call(`/v1/jobs/by-marking/${number}`, { key: each })).status,
    ),
  );

interface TestJob {
  marking_number: string;
  normalized_status: string;
  weight: number | null;
}

async function createJobs(body: object = {}, options = {}): Promise<TestJob[]> {
  const response = await post("/v1/test/jobs", body, options);
  expect(response.status).toBe(201);
  return (response.body.data as { items: TestJob[] }).items;
}

/** Returns the Marking Number of a new job. */
const createJob = async (body: object = {}, options = {}): Promise<string> =>
  (await createJobs(body, options))[0]?.marking_number ?? "";

async function eventsOf(number: string, as = key): Promise<{ type: string; status: string | undefined }[]> {
  const { body } = await app.call(`/v1/jobs/by-marking/${number}/history?page_size=100`, { key: as });
  const { items } = body.data as {
    items: { type: string; changes: Record<string, { to: string } | undefined> }[];
  };
  return items.map(({ type, changes }) => ({ type, status: changes["normalized_status"]?.to })).toReversed();
}

describe("POST /v1/test/jobs", () => {
  it("201: creates jobs with the template, visible to both sides and to no live key", async () => {
    const jobs = await createJobs({ count: 3, template: { weight: 8.25 } });
    expect(jobs.map(({ weight }) => weight)).toEqual([8.25, 8.25, 8.25]);
    const [{ marking_number: number } = { marking_number: "" }] = jobs;
    expect(number).toMatch(/^TEST-[0-9A-Z]{12}$/);
    const statuses = await Promise.all(
      [key, contractorKey, agent.key].map(
        async (each) => (await app.call(`/v1/jobs/by-marking/${number}`, { key: each })).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 404]);
    expect((await eventsOf(number)).map(({ type }) => type)).toEqual(["job.created", "job.assigned"]);
  });

  it.each([
    [{ count: 0 }, "count must be a whole number from 1 to 100"],
    [{ count: 101 }, "count must be a whole number from 1 to 100"],
    [{ template: [] }, "template must be an object of editable fields"],
    [
      { template: { weight: "heavy", wieght: 1, id: "x" } },
      "template.weight must be a number or null",
      ["template.weight", "template.wieght", "template.id"],
    ],
    [{ template: { wieght: 1 } }, "template.wieght is not an editable field; did you mean weight?"],
    [{ marking_numbers: [] }, "marking_numbers must be a list of 1 to 100 Marking Numbers"],
    [{ marking_numbers: ["TEST-A", "B-1"] }, "marking_numbers[1] must start with TEST-"],
    [
      { marking_numbers: ["TEST-A\t"] },
      "marking_numbers[0] must not contain control characters, such as a tab or a line break",
    ],
    [{ marking_numbers: ["TEST-A", "TEST-A"] }, "marking_numbers must be a list without repeated ones"],
    [{ count: 1, marking_numbers: ["TEST-A"] }, "count must be left out if the Marking Numbers are given"],
  ])("400: %j", async (body: object, message: string, fields?: string[]) => {
    const response = await post("/v1/test/jobs", body);
    expectFailure(response, 400, message);
    if (fields) expectProblems(response, "body", fields);
  });

  it("400: a contractor creates no job that it could not see", async () => {
    const response = await post("/v1/test/jobs", { assigned: false }, { as: contractorKey });
    expectFailure(response, 400, "assigned must be true, because a contractor sees only jobs assigned to it");
  });

  const ownNumbers = ["TEST-FIX/1", "TEST-fix ü 2"];

  it("201: creates the jobs with the given Marking Numbers, in their order", async () => {
    const jobs = await createJobs({ marking_numbers: ownNumbers, template: { weight: 3 } });
    expect(jobs.map(({ marking_number: number, weight }) => [number, weight])).toEqual(
      ownNumbers.map((number) => [number, 3]),
    );
  });

  it("409: creates no job if one of the Marking Numbers exists, also of another partner", async () => {
    const other = await createTestKey(await app.createOrganization("agent"), "agent");
    const [taken] = await createJobs({}, { as: other });
    const numbers = ["TEST-NEW", taken?.marking_number ?? ""];
    const message = `Jobs with these Marking Numbers exist, so none was created: ${numbers[1]}`;
    expectFailure(await post("/v1/test/jobs", { marking_numbers: numbers }), 409, message);
    expect((await app.call("/v1/jobs/by-marking/TEST-NEW", { key })).status).toBe(404);
  });

  it("409: at most 1,000 jobs exist, also if requests create them at the same time", async () => {
    const partner = await app.createOrganization("contractor");
    const as = await createTestKey(partner, "contractor");
    const responses = await Promise.all(
      Array.from({ length: 11 }, () => post("/v1/test/jobs", { count: 100 }, { as })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = responses.find(({ status }) => status === 409);
    expect(refused?.body.error).toMatchObject({
      message: "There are 1000 test jobs; at most 1000 can exist. Delete them with POST /v1/test/reset",
      details: { limit: 1_000 },
    });
  });
});

describe("POST /v1/test/jobs/by-marking/{markingNumber}/reassign", () => {
  it("200: takes the job away from the contractor and assigns it again, as an operator does", async () => {
    const number = await createJob();
    await using receiver = await startTestReceiver();
    const hook = { url: receiver.url, event_types: ["job.assigned"] };
    expect((await post("/v1/webhook-endpoints", hook, { as: contractorKey })).status).toBe(201);

    const away = await reassign(number, { assigned: false });
    expect([away.status, away.body.data]).toMatchObject([200, { job: { contractor: null, version: 3 } }]);
    expect(await visibility(number)).toEqual([200, 404]);

    // The contractor cannot see the job, but its key belongs to the same partner.
    const back = await reassign(number, { assigned: true }, { as: contractorKey });
    expect([back.status, back.body.data]).toMatchObject([
      200,
      { job: { contractor: { id: expect.stringMatching(/^org_/) }, version: 4 } },
    ]);
    expect(await visibility(number)).toEqual([200, 200]);
    expect((await eventsOf(number)).at(-1)?.type).toBe("job.assigned");
    expect(JSON.parse((await receiver.next()).body).data).toMatchObject({
      job: { marking_number: number },
      sequence: 4,
    });
  });

  it("200: changes nothing if the job is assigned as requested", async () => {
    const number = await createJob();
    expect((await reassign(number, { assigned: true })).body.data).toMatchObject({ job: { version: 2 } });
    expect(await eventsOf(number)).toHaveLength(2);
  });

  it("200: a repeated Idempotency-Key returns the first answer, unless that changed nothing", async () => {
    const number = await createJob();
    const headers = { "idempotency-key": `away-${number}` };
    expect((await reassign(number, { assigned: false }, { headers })).body.data).toMatchObject({
      job: { version: 3 },
    });
    await reassign(number, { assigned: true });
    const repeated = await reassign(number, { assigned: false }, { headers });
    expect([repeated.headers.get("idempotency-replayed"), repeated.body.data]).toMatchObject([
      "true",
      { job: { version: 3 } },
    ]);
    expect(await visibility(number)).toEqual([200, 200]);

    const other = { headers: { "idempotency-key": `back-${number}` } };
    await reassign(number, { assigned: true }, other);
    await reassign(number, { assigned: false });
    expect((await reassign(number, { assigned: true }, other)).body.data).toMatchObject({
      job: { version: 6 },
    });
  });

  it("GraphQL: returns the job", async () => {
    const number = await createJob();
    const { reassignTestJob } = await queryData(
      app,
      `mutation { reassignTestJob(input: { markingNumber: "${number}", assigned: false }) {
        job { markingNumber contractor { id } } userErrors { code } } }`,
      { key: contractorKey },
    );
    expect(reassignTestJob).toEqual({ job: { markingNumber: number, contractor: null }, userErrors: [] });
  });
});

describe("POST /v1/test/jobs/by-marking/{markingNumber}/run", () => {
  it("201: drives the job through the path with real events and webhooks", async () => {
    await using receiver = await startTestReceiver();
    const as = await createTestKey(await app.createOrganization("agent"), "agent");
    await post("/v1/webhook-endpoints", { url: receiver.url, event_types: ["job.status_changed"] }, { as });
    const number = await createJob({}, { as });
    const { status, body } = await post(runPath(number), { path: "cancelled" }, { as });
    expect([status, body.data]).toEqual([
      201,
      expect.objectContaining({
        marking_number: number,
        steps: ["scheduled", "cancelled"],
        interval_ms: 1_000,
      }),
    ]);
    const expected = ["scheduled", "cancelled"].map((to) => ({ type: "job.status_changed", status: to }));
    await eventually(async () => expect((await eventsOf(number, as)).slice(2)).toEqual(expected));
    for (const to of ["scheduled", "cancelled"]) {
      const event = JSON.parse((await receiver.next()).body) as { data: { job: TestJob } };
      expect(event.data.job).toMatchObject({ marking_number: number, normalized_status: to });
    }
  });

  it.each([
    [{}, "path must be given without steps, or steps without path"],
    [{ path: "delivered", steps: ["failed"] }, "path must be given without steps, or steps without path"],
    [{ path: "lost" }, "path must be one of delivered, failed_then_delivered, returned, on_hold, cancelled"],
    [{ steps: [] }, "steps must be a list of 1 to 50 status codes"],
    [
      { steps: ["pending", "lost"] },
      'steps[1] is not a known status ("lost"); GET /v1/reference/statuses lists them',
    ],
    [{ path: "delivered", interval_ms: 0 }, "interval_ms must be a whole number from 1000 to 600000"],
    [
      { path: "delivered", interval_ms: 86_400_000 },
      "interval_ms must be a whole number from 1000 to 600000",
    ],
  ])("400: %j", async (request, message) => {
    const number = await createJob();
    expectFailure(await post(runPath(number), request), 400, message);
    expect(await eventsOf(number)).toHaveLength(2);
  });

  it("409: a job has one run at a time", async () => {
    const number = await createJob();
    const request = { path: "delivered", interval_ms: 600_000 };
    expect((await post(runPath(number), request)).status).toBe(201);
    const second = await post(runPath(number), request);
    expectFailure(second, 409, /^The job has a run with [56] steps left\. It ends at 20/);
  });
});

const cancel = (number: string, as = key) => app.call(runPath(number), { key: as, method: "DELETE" });

describe("DELETE /v1/test/jobs/by-marking/{markingNumber}/run", () => {
  const request = { steps: ["picked_up", "in_transit", "arrived"], interval_ms: 600_000 };

  it("200: returns the steps that are left, applies none of them, and allows another run", async () => {
    const number = await createJob();
    await post(runPath(number), request);
    await eventually(async () => expect(await eventsOf(number)).toHaveLength(3));
    const { status, body } = await cancel(number);
    expect([status, body.data]).toEqual([
      200,
      {
        marking_number: number,
        steps: ["in_transit", "arrived"],
        interval_ms: 600_000,
        next_step_at: expect.any(String),
        ends_at: expect.any(String),
      },
    ]);
    const { next_step_at: next, ends_at: end } = body.data;
    expect(Date.parse(end) - Date.parse(next)).toBe(600_000);
    expect(await eventsOf(number)).toHaveLength(3);
    expect((await post(runPath(number), { steps: ["completed"] })).status).toBe(201);
  });

  it("404: no visible job, and a job without a run", async () => {
    const [live = ""] = await app.createJobs(agent, [{}]);
    const number = await createJob({ assigned: false });
    await post(runPath(number), request);
    for (const refused of [cancel(live), cancel("TEST-NONE"), cancel(number, contractorKey)])
      expectFailure(await refused, 404, "Delivery job not found");
    expect((await cancel(number)).status).toBe(200);
    const assigned = await createJob();
    await post(runPath(assigned), request);
    expect((await cancel(assigned, contractorKey)).status).toBe(200);
    expectFailure(await cancel(number), 404, "The job has no run in progress");
  });
});

it("409: POST /v1/test/reset keeps everything while a run is in progress", async () => {
  const as = await createTestKey(await app.createOrganization("agent"), "agent");
  const number = await createJob({}, { as });
  await post(runPath(number), { path: "delivered", interval_ms: 600_000 }, { as });
  const refused = await post("/v1/test/reset", undefined, { as });
  expectFailure(refused, 409, /^A run is in progress\. Try again at 20\S+, or cancel it with DELETE/);
  expect((await app.call(`/v1/jobs/by-marking/${number}`, { key: as })).status).toBe(200);
});
