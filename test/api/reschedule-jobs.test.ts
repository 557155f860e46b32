/** POST /v1/jobs/reschedule and `rescheduleJobs`: the same change, with the rules of a batch. */
import { describe, expect, it } from "vitest";
import type { JobPatch } from "../../src/jobs/api.ts";
import type { TestJob } from "../support/app/app.fixture.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, historyOf } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { graphql } from "../support/graphql/client.ts";

const { app, agent, contractor } = useSharedApp();

const NEW_DAY = "2099-12-01";
const PAST = "2020-01-01";

/** The dates of a job: without any, planned, confirmed, and waiting for a confirmation. */
const states: readonly JobPatch[] = [
  {},
  { scheduled_date: PAST },
  { scheduled_date: PAST, scheduled_delivery_date: PAST },
  { scheduled_delivery_date: PAST, scheduled_delivery_pending: true },
];

interface Options {
  key?: string;
  query?: string;
  idempotencyKey?: string;
}

function reschedule(body: object, { key, query = "", idempotencyKey }: Options = {}): Promise<ApiResponse> {
  return app.call(`/v1/jobs/reschedule${query}`, {
    key: key ?? agent.key,
    method: "POST",
    body: JSON.stringify(body),
    headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
  });
}

const newJob = (others: TestJob = {}): Promise<string> => {
  const patch = { scheduled_date: PAST, scheduled_delivery_date: PAST };
  return app.createJob(agent, { patch, ...others });
};

const toItem = (marking_number: string) => ({ marking_number });
const dates = ({
  scheduled_date,
  scheduled_delivery_date,
  scheduled_delivery_pending,
}: Record<string, unknown>) => ({
  scheduled_date,
  scheduled_delivery_date,
  scheduled_delivery_pending,
});

const MUTATION = `mutation ($items: [RescheduleJobInput!]!, $day: LocalDate!, $confirmed: Boolean, $dryRun: Boolean, $policy: BulkErrorPolicy) {
  rescheduleJobs(items: $items, dueDate: $day, confirmed: $confirmed, dryRun: $dryRun, errorPolicy: $policy) {
    updatedCount failedCount
    results {
      markingNumber outcome job { scheduledDate scheduledDeliveryDate scheduledDeliveryPending version }
      userErrors { code field }
    }
    userErrors { code field }
  }
}`;

const mutate = (markingNumbers: readonly string[], variables: object = {}, key = agent.key) =>
  graphql(app, MUTATION, {
    key,
    variables: {
      items: markingNumbers.map((markingNumber) => ({ markingNumber })),
      day: NEW_DAY,
      ...variables,
    },
  });

describe("for every combination of dates", () => {
  it.each([
    ["plans the new day", false],
    ["confirms the new day", true],
  ])("REST and GraphQL make the same change: it %s", async (_what, confirmed) => {
    const patches = states.map((patch) => ({ patch }));
    const [inRest, inGraphql] = [await app.createJobs(agent, patches), await app.createJobs(agent, patches)];
    const expected = states.map(({ scheduled_date = null }, index) =>
      confirmed
        ? { scheduled_date, scheduled_delivery_date: NEW_DAY, scheduled_delivery_pending: false }
        : {
            scheduled_date: NEW_DAY,
            scheduled_delivery_date: null,
            scheduled_delivery_pending: index === 3,
          },
    );
    const body = { jobs: inRest.map(toItem), due_date: NEW_DAY, ...(confirmed && { confirmed }) };
    const { updated_count, results } = expectData(await reschedule(body));
    expect(updated_count).toBe(states.length);
    expect(results.map(({ job }: { job: Record<string, unknown> }) => dates(job))).toEqual(expected);

    const { data } = await mutate(inGraphql, { ...(confirmed && { confirmed }) });
    expect(data.rescheduleJobs).toMatchObject({
      updatedCount: states.length,
      failedCount: 0,
      userErrors: [],
    });
    const stored = await Promise.all(inGraphql.map((number) => getJob(app, agent, number)));
    expect(stored.map((response) => dates(expectData(response)))).toEqual(expected);

    const filter = `filter: { dueDate: { eq: "${NEW_DAY}" }, isLate: false, markingNumber: { in: $numbers } }`;
    const query = `query ($numbers: [String!]!) { jobs(${filter}) { totalCount } }`;
    const numbers = [...inRest, ...inGraphql];
    const due = await graphql(app, query, { key: agent.key, variables: { numbers } });
    expect(due.data.jobs).toEqual({ totalCount: numbers.length });
  });
});

describe("as a batch does, it", () => {
  it("fails for jobs that the organisation can't see, and changes the others", async () => {
    const seen = await newJob();
    const foreign = await app.createJob(await app.createOrganization("agent"));
    const { results, failed_count } = expectData(
      await reschedule({ jobs: [seen, foreign].map(toItem), due_date: NEW_DAY }),
    );
    expect(failed_count).toBe(1);
    expect(results[1]).toEqual({
      ...toItem(foreign),
      success: false,
      error: "Delivery job not found",
      error_code: "NotFoundException",
      error_details: null,
    });
    const { data } = await mutate([foreign]);
    expect(data.rescheduleJobs.userErrors).toEqual([{ code: "NOT_FOUND", field: "items.0.markingNumber" }]);
  });

  it("serves contractors, and records an event with the key that made the change", async () => {
    const number = await newJob({ contractor });
    expectData(await reschedule({ jobs: [toItem(number)], due_date: NEW_DAY }, { key: contractor.key }));
    expect((await historyOf(app, agent, number)).at(-1)).toMatchObject({
      type: "job.updated",
      sequence: 3,
      actor: { type: "key" },
      changes: {
        scheduled_date: { from: PAST, to: NEW_DAY },
        scheduled_delivery_date: { from: PAST, to: null },
      },
    });
  });

  it("changes nothing in a dry run", async () => {
    const number = await newJob();
    const tried = expectData(
      await reschedule({ jobs: [toItem(number)], due_date: NEW_DAY }, { query: "?dry_run=true" }),
    );
    expect(tried.results[0].job.scheduled_date).toBe(NEW_DAY);
    const { data } = await mutate([number], { dryRun: true });
    expect(data.rescheduleJobs.results[0]).toMatchObject({ outcome: "UPDATED", job: { version: 2 } });
    expect(expectData(await getJob(app, agent, number))).toMatchObject({ scheduled_date: PAST, version: 1 });
  });

  it("changes no job with another version, and none at all if one failure stops all", async () => {
    const [one, two] = [await newJob(), await newJob()];
    const jobs = [{ ...toItem(one), if_version: 7 }, toItem(two)];
    const body = { jobs, due_date: NEW_DAY };
    const { results } = expectData(await reschedule(body, { query: "?on_error=stop_all" }));
    expect(results).toMatchObject([
      { error_code: "PreconditionFailedException", current_version: 1 },
      { error_code: "ConflictException" },
    ]);
    const items = [{ markingNumber: one, expectedVersion: 7 }, { markingNumber: two }];
    const { data } = await mutate([], { items, policy: "ALL_OR_NOTHING" });
    expect(data.rescheduleJobs.results).toMatchObject([
      { outcome: "FAILED", userErrors: [{ code: "CONFLICT", field: "items.0.expectedVersion" }] },
      { outcome: "NOT_APPLIED" },
    ]);
    expect(expectData(await getJob(app, agent, two)).version).toBe(1);
  });

  it("changes nothing twice with an Idempotency-Key, nor for equal dates", async () => {
    const number = await newJob();
    const body = { jobs: [toItem(number)], due_date: NEW_DAY };
    const first = expectData(await reschedule(body, { idempotencyKey: "move" }));
    const repeat = await reschedule(body, { idempotencyKey: "move" });
    expect(repeat.headers.get("idempotency-replayed")).toBe("true");
    expect(expectData(repeat)).toEqual(first);
    expectFailure(await reschedule({ ...body, due_date: PAST }, { idempotencyKey: "move" }), 422);
    expect(expectData(await reschedule(body)).results[0].job.version).toBe(2);
  });
});

describe("400", () => {
  const jobs = [{ marking_number: "WM-1" }];

  it.each<[string, object, string[]]>([
    ["no date", { jobs }, ["due_date"]],
    ["no calendar date", { jobs, due_date: "2026-02-30" }, ["due_date"]],
    ["no jobs", { jobs: [], due_date: NEW_DAY }, ["jobs"]],
    ["101 jobs", { jobs: Array.from({ length: 101 }, () => jobs[0]), due_date: NEW_DAY }, ["jobs"]],
    [
      "malformed members of a job",
      { jobs: [{ marking_number: "", if_version: 0 }], due_date: NEW_DAY },
      ["jobs[0].marking_number", "jobs[0].if_version"],
    ],
    ["dry_run in the body", { jobs, due_date: NEW_DAY, dry_run: true }, ["dry_run"]],
    ["confirmed as text", { jobs, due_date: NEW_DAY, confirmed: "yes" }, ["confirmed"]],
  ])("for %s", async (_what, body, fields) => {
    expectProblems(await reschedule(body), "body", fields);
  });

  it("for If-Match, which is for one job", async () => {
    const headers = { "if-match": '"1"' };
    const body = JSON.stringify({ jobs, due_date: NEW_DAY });
    const response = await app.call("/v1/jobs/reschedule", { key: agent.key, method: "POST", headers, body });
    expectProblems(response, "header", ["If-Match"]);
  });
});

it("in GraphQL, keys without jobs:read change jobs but can't see them, nor try a change", async () => {
  const key = await app.createKey(agent.id, { scopes: ["jobs:write"] });
  const number = await newJob();
  const document = (options: string) =>
    `mutation { rescheduleJobs(items: [{ markingNumber: "${number}" }], ${options}) { updatedCount } }`;
  const changed = await graphql(app, document(`dueDate: "${NEW_DAY}"`), { key });
  expect(changed.data.rescheduleJobs).toEqual({ updatedCount: 1 });
  const tried = await graphql(app, document(`dueDate: "${PAST}", dryRun: true`), { key });
  expect(tried.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
});
