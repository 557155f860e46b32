/** The actions of test mode have the same effects, results and refusals in REST and GraphQL. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import {
  expectSameData,
  expectSameEffect,
  expectSameRefusal,
  runBoth,
  type ParityAction,
  type ParityFixture,
} from "../support/app/parity.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { graphql } from "../support/graphql/client.ts";
import { inRestForm } from "../support/webhooks/webhook-parity.fixture.ts";

interface TestFixture extends ParityFixture {
  /** A test job. */
  markingNumber: string;
}
type Action = ParityAction<TestFixture>;

let app: TestApp;

beforeAll(async () => {
  // Without a worker, which would apply steps between the action and the comparison.
  const env = {
    WAYMARK_ROLE: "api",
    RATE_LIMITS: "on",
    WEBHOOK_ALLOW_PRIVATE: "on",
    MONGODB_URL: createTestMongo().url,
  };
  app = await startTestApp(env);
});
afterAll(() => app[Symbol.asyncDispose]());

type TestKey = Partial<Parameters<TestApp["keys"]["create"]>[0]>;

interface FixtureOptions extends TestKey {
  /** Number of existing jobs. Default: 1 */
  jobs?: number;
  /** Whether the first job has a run. */
  hasRun?: boolean;
}

const setUp =
  ({ jobs = 1, hasRun = false, ...key }: FixtureOptions = {}) =>
  async (): Promise<TestFixture> => {
    const live = await app.createOrganization("agent");
    const createKey = (options: TestKey) =>
      app.keys.create({
        organizationId: live.id,
        name: "set up",
        createdBy: "test",
        testSide: "agent",
        ...options,
      });
    const issued = await createKey({});
    const call = (path: string, body: object) =>
      app.call(path, { method: "POST", key: issued.text, body: JSON.stringify(body) });
    const numbers: string[] = [];
    while (numbers.length < jobs) {
      const { body } = await call("/v1/test/jobs", { count: Math.min(100, jobs - numbers.length) });
      const { items } = body.data as { items: { marking_number: string }[] };
      numbers.push(...items.map(({ marking_number: number }) => number));
    }
    const [markingNumber = ""] = numbers;
    if (hasRun)
      await call(`/v1/test/jobs/by-marking/${markingNumber}/run`, { path: "on_hold", interval_ms: 5000 });
    const { text } = await createKey({ name: "caller", ...key });
    const organization = { id: issued.key.organization?.id ?? "", name: "test", key: issued.text };
    return { organization, key: text, markingNumber };
  };

const USER_ERRORS = "userErrors { code field message }";

function create(input: Record<string, unknown>, options?: FixtureOptions, graphqlInput = input): Action {
  return {
    setUp: setUp(options),
    rest: () => ({ method: "POST", path: "/v1/test/jobs", body: input }),
    graphql: () => ({
      document: `mutation ($input: CreateTestJobsInput! = {}) { createTestJobs(input: $input) {
        jobs { markingNumber weight recipientName normalizedStatus version } ${USER_ERRORS} } }`,
      variables: { input: graphqlInput },
    }),
  };
}

function run(
  input: { path?: string; steps?: string[]; interval_ms?: number },
  options?: FixtureOptions,
  markingNumber?: string,
): Action {
  const { path, interval_ms: intervalMs, ...rest } = input;
  const graphqlInput = {
    ...rest,
    ...(path !== undefined && { path: path.toUpperCase() }),
    ...(intervalMs !== undefined && { intervalMs }),
  };
  return {
    setUp: setUp(options),
    rest: ({ markingNumber: own }) => ({
      method: "POST",
      path: `/v1/test/jobs/by-marking/${markingNumber ?? own}/run`,
      body: input,
    }),
    graphql: ({ markingNumber: own }) => ({
      document: `mutation ($input: RunTestJobInput!) { runTestJob(input: $input) {
        run { markingNumber steps intervalMs nextStepAt endsAt } ${USER_ERRORS} } }`,
      variables: { input: { markingNumber: markingNumber ?? own, ...graphqlInput } },
    }),
  };
}

function cancel(options: FixtureOptions, markingNumber?: string): Action {
  return {
    setUp: setUp(options),
    rest: ({ markingNumber: own }) => ({
      method: "DELETE",
      path: `/v1/test/jobs/by-marking/${markingNumber ?? own}/run`,
    }),
    graphql: ({ markingNumber: own }) => ({
      document: `mutation ($input: CancelTestRunInput!) { cancelTestRun(input: $input) {
        run { markingNumber steps intervalMs nextStepAt endsAt } ${USER_ERRORS} } }`,
      variables: { input: { markingNumber: markingNumber ?? own } },
    }),
  };
}

function send(input: Record<string, string>, options?: FixtureOptions, endpoints = 1): Action {
  const { type = "", marking_number: markingNumber, endpoint_id: endpointId } = input;
  return {
    async setUp() {
      const fixture = await setUp(options)();
      const { key } = fixture.organization;
      const body = JSON.stringify({ url: "http://127.0.0.1:9/" });
      if (endpoints > 0) await app.call("/v1/webhook-endpoints", { method: "POST", key, body });
      return fixture;
    },
    rest: () => {
      const { type: _type, ...body } = input;
      return { method: "POST", path: `/v1/test/events/${type}`, body };
    },
    graphql: () => ({
      document: `mutation ($input: SendSampleEventInput!) { sendSampleEvent(input: $input) {
        deliveries { status eventType markingNumber } ${USER_ERRORS} } }`,
      variables: { input: { type: type.toUpperCase().replace(".", "_"), markingNumber, endpointId } },
    }),
  };
}

const reset = (options?: FixtureOptions): Action => ({
  setUp: setUp(options),
  rest: () => ({ method: "POST", path: "/v1/test/reset" }),
  graphql: () => ({
    document: `mutation { resetTestData { deleted { jobs events deliveries requests } ${USER_ERRORS} } }`,
  }),
});

describe("createTestJobs", () => {
  it.each<[string, Record<string, unknown>, FixtureOptions?, Record<string, unknown>?]>([
    ["one job by default", {}],
    ["a job without a contractor", { assigned: false }],
    [
      "a template",
      { template: { recipient_name: "Harbour", weight: 8.25, normalized_status: "picked_up" } },
      {},
      { template: { recipientName: "Harbour", weight: 8.25, normalizedStatus: "picked_up" } },
    ],
    ["as the contractor", {}, { testSide: "contractor" }],
  ])("stores the same jobs and events: %s", async (_what, input, options, graphqlInput) => {
    const both = await expectSameEffect(app, create(input, options, graphqlInput));
    expect(both.rest.response.status).toBe(201);
    const jobs = inRestForm(both.graphql.response.data.createTestJobs.jobs) as Record<string, unknown>[];
    const [first = {}] = jobs;
    const items = both.rest.response.body.data.items as Record<string, unknown>[];
    const selected = items.map((item) =>
      Object.fromEntries(Object.keys(first).map((name) => [name, item[name]])),
    );
    expectSameData(selected, jobs);
  });

  it("creates the number of jobs in both", async () => {
    const both = await runBoth(app, create({ count: 3 }, { jobs: 0 }));
    expect([both.rest, both.graphql].map(({ stored }) => stored["job"]?.length)).toEqual([3, 3]);
  });

  it.each<[string, Record<string, unknown>, RegExp, FixtureOptions?]>([
    ["no job", { count: 0 }, /^count must be a whole number from 1 to 100$/],
    ["101 jobs", { count: 101 }, /^count must be a whole number from 1 to 100$/],
    ["1,001 jobs", { count: 1_001 }, /^count must be a whole number from 1 to 100$/],
    [
      "an unknown status",
      { template: { normalized_status: "lost" } },
      /^template\.normalizedStatus is not a known/,
    ],
    [
      "jobs that the caller cannot see",
      { assigned: false },
      /^assigned must be true/,
      { testSide: "contractor" },
    ],
  ])("400 is for the same reason: %s", async (_what, input, message, options) => {
    const graphqlInput = JSON.parse(
      JSON.stringify(input).replaceAll("normalized_status", "normalizedStatus"),
    );
    const { rest } = await expectSameRefusal(app, create(input, options, graphqlInput), "invalid");
    expect(rest.refusal?.messages.join("\n")).toMatch(message);
  });

  it("409 is for the same reason: too many jobs", async () => {
    // One organisation for both, without snapshots: with a thousand jobs each takes seconds.
    const { organization, key = "" } = await setUp()();
    await app.createJobs(
      organization,
      Array.from({ length: 998 }, () => ({})),
    );
    const rest = await app.call("/v1/test/jobs", { method: "POST", key, body: '{"count":2}' });
    const document = `mutation { createTestJobs(input: { count: 2 }) { ${USER_ERRORS} } }`;
    const { data } = await graphql(app, document, { key });

    const message = "There are 999 test jobs; at most 1000 can exist. Delete them with POST /v1/test/reset";
    expect([rest.status, rest.body.error?.message, rest.body.error?.details]).toEqual([
      409,
      message,
      { limit: 1000 },
    ]);
    expect(data.createTestJobs.userErrors).toEqual([{ code: "LIMIT_EXCEEDED", field: null, message }]);
    const jobs = await app.database.query(sql`select from job where agent_id = ${organization.id}`);
    expect(jobs).toHaveLength(999);
  });
});

describe("runTestJob", () => {
  it.each<[string, Parameters<typeof run>[0]]>([
    ["a path, once a second by default", { path: "delivered" }],
    ["another path", { path: "failed_then_delivered", interval_ms: 600_000 }],
    ["steps", { steps: ["failed", "failed", "completed"], interval_ms: 2_000 }],
  ])("stores the same run: %s", async (_what, input) => {
    const both = await expectSameEffect(app, run(input));
    expect(both.rest.stored["test_run"]).toHaveLength(1);
    expectSameData(both.rest.response.body.data, inRestForm(both.graphql.response.data.runTestJob.run));
  });

  it.each<[string, Parameters<typeof run>[0], RegExp]>([
    ["neither path nor steps", {}, /^path must be given without steps, or steps without path$/],
    [
      "path and steps",
      { path: "returned", steps: ["failed"] },
      /^path must be given without steps, or steps without path$/,
    ],
    ["no steps", { steps: [] }, /^steps must be a list of 1 to 50 status codes$/],
    ["51 steps", { steps: Array(51).fill("failed") }, /^steps must be a list of 1 to 50 status codes$/],
    ["an unknown code", { steps: ["pending", "lost"] }, /^steps\.1 is not a known status \("lost"\)/],
    [
      "an interval of 0",
      { path: "returned", interval_ms: 0 },
      /^intervalMs must be a whole number from 1000/,
    ],
    ["a day", { path: "returned", interval_ms: 86_400_000 }, /^intervalMs must be a whole number from 1000/],
  ])("400 is for the same reason: %s", async (_what, input, message) => {
    const { rest } = await expectSameRefusal(app, run(input), "invalid");
    expect(rest.refusal?.messages.join("\n")).toMatch(message);
  });

  it("400 for an unknown path in both, with each interface's own message", async () => {
    const both = await runBoth(app, run({ path: "lost" }));
    expect([both.rest.refusal?.code, both.graphql.refusal?.code]).toEqual(["invalid", "invalid"]);
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });

  it("404 is for the same reason: a live job, and no job", async () => {
    const [live = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
    await expectSameRefusal(app, run({ path: "returned" }, {}, live), "not_found");
    await expectSameRefusal(app, run({ path: "returned" }, {}, "TEST-NONE"), "not_found");
  });

  it("409 in both: the job has a run", async () => {
    const both = await runBoth(app, run({ path: "returned" }, { hasRun: true }));
    expect([both.rest.refusal?.code, both.graphql.refusal?.code]).toEqual(["conflict", "conflict"]);
    expect(both.graphql.refusal?.messages.join()).toMatch(
      /^The job has a run with 4 steps left\. It ends at 20/,
    );
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });
});

describe("cancelTestRun", () => {
  it("deletes the same run, and returns it", async () => {
    const both = await expectSameEffect(app, cancel({ hasRun: true }));
    expect(both.rest.stored["test_run"]).toEqual([]);
    const { run: cancelled } = both.graphql.response.data.cancelTestRun;
    expect(cancelled.steps).toHaveLength(4);
    expectSameData(both.rest.response.body.data, inRestForm(cancelled));
  });

  it("404 is for the same reason: no job, a live job, and a job without a run", async () => {
    const [live = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
    await expectSameRefusal(app, cancel({ hasRun: true }, live), "not_found");
    await expectSameRefusal(app, cancel({ hasRun: true }, "TEST-NONE"), "not_found");
    const { rest } = await expectSameRefusal(app, cancel({}), "not_found");
    expect(rest.refusal?.messages).toEqual(["The job has no run in progress"]);
  });
});

describe("sendSampleEvent", () => {
  it.each(["job.created", "job.assigned", "job.updated", "job.status_changed"])(
    "stores the same event and delivery: %s",
    async (type) => {
      const both = await expectSameEffect(app, send({ type }));
      const [delivery] = both.graphql.response.data.sendSampleEvent.deliveries;
      expect(delivery).toMatchObject({ status: "PENDING", markingNumber: expect.stringMatching(/^TEST-/) });
      expect(both.rest.response.body.data.items).toHaveLength(1);
    },
  );

  it("404 is for the same reason: an unknown job or endpoint", async () => {
    const type = "job.created";
    await expectSameRefusal(app, send({ type, marking_number: "TEST-NONE" }), "not_found");
    const endpointId = "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE";
    await expectSameRefusal(app, send({ type, endpoint_id: endpointId }), "not_found");
  });

  it("409 is for the same reason: no endpoint receives the event", async () => {
    await expectSameRefusal(app, send({ type: "job.created" }, {}, 0), "conflict");
  });
});

describe("resetTestData", () => {
  it("leaves the same rows, and returns the same counts", async () => {
    const both = await expectSameEffect(app, reset({ jobs: 3 }));
    expect(both.rest.stored).toMatchObject({ job: [], job_event: [] });
    const { deleted } = both.graphql.response.data.resetTestData;
    // One request created the jobs.
    const counts = { jobs: 3, events: 6, deliveries: 0, requests: 1 };
    expect([both.rest.response.body.data, deleted]).toEqual([counts, counts]);
  });

  it("409 in both while a run is in progress", async () => {
    const both = await runBoth(app, reset({ hasRun: true }));
    expect([both.rest.refusal?.code, both.graphql.refusal?.code]).toEqual(["conflict", "conflict"]);
    expect(both.rest.stored["job"]).toHaveLength(1);
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });
});

/** The same action with a live key. */
const live = (action: Action): Action => ({
  ...action,
  setUp: async () => {
    const organization = await app.createOrganization("agent");
    const [markingNumber = ""] = await app.createJobs(organization, [{}]);
    return { organization, key: organization.key, markingNumber };
  },
});

describe("a live key", () => {
  it.each([
    ["createTestJobs", live(create({}))],
    ["runTestJob", live(run({ path: "returned" }))],
    ["cancelTestRun", live(cancel({}))],
    ["resetTestData", live(reset())],
  ])("gets not_found in both and changes nothing: %s", async (_name, action) => {
    const both = await runBoth(app, action);
    expect([both.rest.refusal, both.graphql.refusal]).toEqual([
      { code: "not_found", messages: ["There is no such route"] },
      { code: "not_found", messages: ["This works only in test mode: use a test key"] },
    ]);
    expect(both.rest.stored["job"]).toHaveLength(1);
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });

  it("gets not_found as an operator too", async () => {
    const { text } = await app.keys.create({ organizationId: null, name: "o", createdBy: "test" });
    const document = "mutation { resetTestData { userErrors { code } } }";
    const { data } = await graphql(app, document, { key: text });
    expect(data).toEqual({ resetTestData: { userErrors: [{ code: "NOT_FOUND" }] } });
  });
});

it("a user in test mode can use the mutations", async () => {
  const { id } = await app.createOrganization("agent");
  const owner = await createSignedInUser(app, id);
  expect((await owner.client.post("/auth/test-mode")).status).toBe(200);
  const headers = { ...owner.headers, "X-Waymark-Mode": "test" };
  const change = async (document: string) =>
    (await graphql(app, `mutation { ${document} }`, { headers })).data;
  const { createTestJobs } = await change("createTestJobs { jobs { markingNumber agent { name } } }");
  const [{ markingNumber }] = createTestJobs.jobs;
  const input = `{ markingNumber: "${markingNumber}", path: CANCELLED }`;
  expect(await change(`runTestJob(input: ${input}) { run { steps } userErrors { code } }`)).toEqual({
    runTestJob: { run: { steps: ["scheduled", "cancelled"] }, userErrors: [] },
  });
  expect(await change("resetTestData { userErrors { code } }")).toEqual({
    resetTestData: { userErrors: [{ code: "CONFLICT" }] },
  });
});
