/** The header `Idempotency-Key` of mutations. */
import { beforeAll, describe, expect, it } from "vitest";
import { lockId } from "../../src/idempotency/service.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { graphql, type GraphqlError, type GraphqlResponse } from "../support/graphql/client.ts";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

const send = (
  text: string,
  query: string,
  variables: Record<string, unknown> = {},
  key: string = agent.key,
): Promise<GraphqlResponse> => graphql(app, query, { key, variables, headers: { "idempotency-key": text } });

const UPDATE = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { job { id weight version agent { name } } userErrors { code field } } }`;
const UPDATE_ALL = `mutation ($items: [UpdateJobInput!]!, $dryRun: Boolean) {
  updateJobs(items: $items, dryRun: $dryRun) {
    updatedCount failedCount results { outcome job { weight } userErrors { code field } } } }`;
const CREATE_KEY = `mutation ($name: String!) {
  createApiKey(input: { name: $name, scopes: [JOBS_READ] }) { apiKey { id name } secret userErrors { code } } }`;

const patch = (markingNumber: string, weight: number) => ({ markingNumber, patch: { weight } });
const input = (markingNumber: string, weight: number) => ({ input: patch(markingNumber, weight) });

async function newJob(): Promise<string> {
  const [number] = await app.createJobs(agent, [{}]);
  return number as string;
}

const weightOf = async (number: string): Promise<unknown> =>
  expectData(await getJob(app, agent, number)).weight;

const stored = (text: string): Promise<{ answer: string }[]> =>
  app.database.query(
    sql`select answer from idempotency_record where organization_id = ${agent.id} and key = ${text}`,
  );

function expectReplay(repeat: GraphqlResponse, { status, data, errors }: GraphqlResponse): void {
  expect(repeat).toMatchObject({ status, data, errors });
  expect(repeat.headers.get("idempotency-replayed")).toBe("true");
}

function expectError(response: GraphqlResponse, status: number, code: string): GraphqlError | undefined {
  expect({ status: response.status, data: response.data ?? null }).toEqual({ status, data: null });
  const [error] = response.errors ?? [];
  expect(error?.extensions.code).toBe(code);
  return error;
}

describe("a repeated mutation", () => {
  it("returns the payload of the first, and changes nothing", async () => {
    const number = await newJob();
    const first = await send("one", UPDATE, input(number, 1));
    expect(first.data.updateJob).toMatchObject({ job: { weight: 1, version: 2 }, userErrors: [] });
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    expectData(await patchJob(app, agent, number, { weight: 5 }));
    expectReplay(await send("one", UPDATE, input(number, 1)), first);
    expect(await weightOf(number)).toBe(5);
  });

  it("may select other fields, and write its arguments into the query", async () => {
    const number = await newJob();
    await send("selection", UPDATE, input(number, 1));
    const repeat = await send(
      "selection",
      `mutation { updateJob(input: { patch: { weight: 1 }, markingNumber: "${number}" }) { job { markingNumber } } }`,
    );
    expect(repeat.headers.get("idempotency-replayed")).toBe("true");
    expect(repeat.data.updateJob).toEqual({ job: { markingNumber: number } });
  });

  it("returns the results of a batch, failed items included", async () => {
    const number = await newJob();
    const items = [patch(number, 1), patch("NO-SUCH-JOB", 1), patch(number, -1)];
    const first = await send("batch", UPDATE_ALL, { items });
    expect(first.data.updateJobs).toMatchObject({ updatedCount: 2, failedCount: 1 });
    expectReplay(await send("batch", UPDATE_ALL, { items }), first);
    const [record] = await app.database.query<{ version: number }>(
      sql`select version from job where marking_number = ${number}`,
    );
    expect(record?.version).toBe(3);
  });

  it("creates no second key, and returns null in place of the secret", async () => {
    const first = await send("secret", CREATE_KEY, { name: "once" });
    const { apiKey, secret } = first.data.createApiKey;
    expect(secret).toMatch(/^wmk_/);
    const repeat = await send("secret", CREATE_KEY, { name: "once" });
    expect(repeat.data.createApiKey).toEqual({ apiKey, secret: null, userErrors: [] });
    const [record] = await stored("secret");
    expect(record?.answer).not.toContain(secret);
    const { data } = await graphql(app, "{ apiKeys { name } }", { key: agent.key });
    expect(data.apiKeys.filter(({ name }: { name: string }) => name === "once")).toHaveLength(1);
  });

  it("compares times in its arguments", async () => {
    const create = `mutation ($expiresAt: DateTime!) {
      createApiKey(input: { name: "ends", expiresAt: $expiresAt }) { apiKey { id expiresAt } } }`;
    const first = await send("times", create, { expiresAt: "2060-01-01T00:00:00Z" });
    expect(first.data.createApiKey.apiKey.expiresAt).toBe("2060-01-01T00:00:00.000Z");
    expectReplay(await send("times", create, { expiresAt: "2060-01-01T00:00:00.000Z" }), first);
    const other = await send("times", create, { expiresAt: "2060-01-02T00:00:00Z" });
    expectError(other, 422, "IDEMPOTENCY_KEY_REUSED");
  });
});

describe("runs again", () => {
  it("after userErrors, also with other arguments", async () => {
    const number = await newJob();
    const refused = await send("refused", UPDATE, input("NO-SUCH-JOB", 1));
    expect(refused.data.updateJob).toEqual({
      job: null,
      userErrors: [{ code: "NOT_FOUND", field: "input.markingNumber" }],
    });
    const { data } = await send("refused", UPDATE, input(number, 1));
    expect(data.updateJob.job.weight).toBe(1);
  });

  it("after a dry run, and after a batch that changed nothing", async () => {
    const number = await newJob();
    await send("dry", UPDATE_ALL, { items: [patch(number, 1)], dryRun: true });
    await send("dry", UPDATE_ALL, { items: [patch("NO-SUCH-JOB", 1)] });
    expect(await stored("dry")).toEqual([]);
    expect(await weightOf(number)).toBeNull();
  });
});

it("changes the job and stores the response in one transaction", async () => {
  const number = await newJob();
  await app.database.query(
    sql`alter table idempotency_record add constraint refused_by_test check (key <> 'graphql-atomic') not valid`,
  );
  try {
    expectError(await send("graphql-atomic", UPDATE, input(number, 1)), 500, "INTERNAL_SERVER_ERROR");
  } finally {
    await app.database.query(sql`alter table idempotency_record drop constraint refused_by_test`);
  }
  expect(await weightOf(number)).toBeNull();
});

describe("409", () => {
  it.each([
    ["updateJob", "PATCH /v1/jobs/by-marking/{markingNumber}", UPDATE, () => input("NO-SUCH-JOB", 1)],
    ["createApiKey", "POST /v1/api-keys", CREATE_KEY, () => ({ name: "in flight" })],
  ])("while the first %s is in flight", async (field, route, query, variables) => {
    const lock = lockId({ organizationId: agent.id, route, key: `flight-${field}` });
    await app.database.transaction(async (tx) => {
      await tx.query(sql`select pg_advisory_xact_lock(${lock})`);
      const error = expectError(await send(`flight-${field}`, query, variables()), 409, "CONFLICT");
      expect(error?.message).toBe("A request with this Idempotency-Key is still in progress");
    });
  });
});

describe("422", () => {
  it("for other arguments, and names the first request", async () => {
    const number = await newJob();
    const first = await send("other", UPDATE, input(number, 1));
    const error = expectError(await send("other", UPDATE, input(number, 2)), 422, "IDEMPOTENCY_KEY_REUSED");
    expect(error?.extensions).toMatchObject({
      details: { request_id: first.headers.get("x-request-id"), at: expect.any(String) },
    });
    expect(await weightOf(number)).toBe(1);
  });

  it("for a key that REST used, also with the same values, and the other way round", async () => {
    const number = await newJob();
    const headers = { "idempotency-key": "rest-first" };
    const first = await patchJob(app, { ...agent, headers }, number, { weight: 1 });
    for (const weight of [1, 2]) {
      const response = await send("rest-first", UPDATE, input(number, weight));
      const error = expectError(response, 422, "IDEMPOTENCY_KEY_REUSED");
      expect(error?.message).toContain(first.body.request_id);
    }
    // The first request is still replayed.
    const repeat = await patchJob(app, { ...agent, headers }, number, { weight: 1 });
    expect(repeat.headers.get("idempotency-replayed")).toBe("true");

    await send("graphql-first", UPDATE, input(number, 3));
    const rest = { ...agent, headers: { "idempotency-key": "graphql-first" } };
    expectFailure(await patchJob(app, rest, number, { weight: 3 }), 422);
    expect(await weightOf(number)).toBe(3);
  });
});

const problemOf = (response: GraphqlResponse) =>
  expectError(response, 400, "BAD_USER_INPUT")?.extensions.problems?.map(({ message }) => message);

describe("400", () => {
  it("for two mutations in one request, and changes nothing", async () => {
    const number = await newJob();
    const two = `mutation ($input: UpdateJobInput!) {
      a: updateJob(input: $input) { job { id } } b: updateJob(input: $input) { job { id } } }`;
    expect(problemOf(await send("two", two, input(number, 1)))).toEqual([
      "is for one mutation; send each mutation in a request of its own",
    ]);
    expect(await weightOf(number)).toBeNull();
  });

  it("for a mutation that takes no key", async () => {
    const { data } = await graphql(app, CREATE_KEY, { key: agent.key, variables: { name: "stays" } });
    const { id } = data.createApiKey.apiKey;
    const revoke = await send("revoke", "mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { id } } }", {
      id,
    });
    expect(problemOf(revoke)).toEqual(["has no effect on revokeApiKey; send this mutation without it"]);
  });

  it("for an operator, who belongs to no organisation", async () => {
    const operator = await app.createKey(null);
    expect(problemOf(await send("operator", UPDATE, input("X", 1), operator))).toEqual([
      "belongs to an organisation; send it with a key of an organisation",
    ]);
  });

  it("if malformed", async () => {
    const problems = ["must be 1 to 255 visible ASCII characters"];
    expect(problemOf(await send("two words", UPDATE, input("X", 1)))).toEqual(problems);
    expect(problemOf(await send("two words", CREATE_KEY, { name: "malformed" }))).toEqual(problems);
  });
});

it("is ignored by queries", async () => {
  const { data, status } = await send("two words", "{ viewer { mode } apiKeys { id } }");
  expect({ status, mode: data.viewer.mode }).toEqual({ status: 200, mode: "LIVE" });
});
