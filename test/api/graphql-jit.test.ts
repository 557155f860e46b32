import { beforeAll, describe, expect, it } from "vitest";
import { exampleDocument } from "../../src/api/graphql/explorer/sandbox.ts";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let number = "";

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  const contractor = await app.createOrganization("contractor");
  const jobs = Array.from({ length: 30 }, (_, index) => ({ contractor, patch: { weight: index } }));
  [number = ""] = await app.createJobs(agent, [{ patch: { failure_reason: "other" } }, ...jobs]);
});

/** The response without the request ID. */
async function ask(
  body: object,
  server: Pick<AppInstance, "request"> = app,
): Promise<{ status: number; text: string }> {
  const response = await server.request("/graphql", {
    method: "POST",
    key: agent.key,
    body: JSON.stringify(body),
  });
  return { status: response.status, text: response.text.replaceAll(/"req_\w+"/g, '"id"') };
}

describe("a repeated, compiled operation returns the same as the first time", () => {
  it.each(["OpenJobs", "JobsWithHistory", "JobsByStatus", "Reschedule", "CatchUp"])(
    "the example %s",
    async (operationName) => {
      const [first, ...more] = [1, 2, 3].map(() => ({ query: exampleDocument, operationName }));
      const response = await ask(first ?? {});
      expect(response.status).toBe(200);
      expect(response.text).not.toContain('"errors"');
      for (const again of more) expect(await ask(again)).toEqual(response);
    },
  );

  it.each<[what: string, query: string, variables?: object]>([
    [
      "a filter that contains itself through a variable",
      "query ($f: JobFilter) { jobs(first: 5, filter: $f) { totalCount edges { cursor node { markingNumber weight } } pageInfo { hasNextPage endCursor } } }",
      { f: { not: { or: [{ weight: { lt: 10 } }, { and: [{ weight: { gt: 20 } }] }] } } },
    ],
    [
      "a filter with absent variables",
      "query ($t: String) { jobs(filter: { batchNumber: { eq: $t } }) { totalCount } }",
    ],
    [
      "an absent order variable",
      "query ($o: JobOrder, $n: Int) { jobs(orderBy: $o, first: $n) { nodes { markingNumber } } }",
    ],
    [
      "nodes of several types",
      "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Job { markingNumber } } }",
      { ids: ["job_x", "nothing"] },
    ],
    [
      "a rejected argument",
      "query ($a: String) { jobs(after: $a) { nodes { id } } jobStatuses { code } }",
      { a: "nonsense" },
    ],
    ["an unknown status", '{ jobs(filter: { normalizedStatus: { eq: "nonsense" } }) { totalCount } }'],
    [
      "an operator-only field",
      "{ organizations { nodes { name } } viewer { kind organization { name } limits { cost } } }",
    ],
    [
      "all fields of a job",
      "query ($m: String) { job(markingNumber: $m) { id weight status { code category } failureReason createdAt version agent { name type } contractor { name } history(first: 2) { nodes { id type changes { field from to } actor { type id } } } } }",
      { m: "set below" },
    ],
  ])("for %s", async (_what, query, variables = {}) => {
    const actualVariables = "m" in variables ? { m: number } : variables;
    const response = await ask({ query, variables: actualVariables });
    expect(response.text).not.toContain("INTERNAL_SERVER_ERROR");
    for (const _ of [1, 2]) expect(await ask({ query, variables: actualVariables })).toEqual(response);
  });

  it("keeps the values of fields whose variables are not given", async () => {
    const query = `mutation ($m: String!, $weight: Float, $labels: String) {
      updateJob(input: { markingNumber: $m, patch: { weight: $weight, labels: $labels } }) { job { weight failureReason } userErrors { code } } }`;
    for (const weight of [1, 2, 3]) {
      const { text } = await ask({ query, variables: { m: number, weight } });
      expect(JSON.parse(text)).toMatchObject({
        data: { updateJob: { job: { weight, failureReason: "other" } } },
      });
    }
    const labelled = await ask({ query, variables: { m: number, labels: "kept" } });
    expect(JSON.parse(labelled.text)).toMatchObject({ data: { updateJob: { job: { weight: 3 } } } });
  });
});

describe("while PostgreSQL is unreachable", () => {
  it("returns 503 SERVICE_UNAVAILABLE with Retry-After, for cached and unknown keys", async () => {
    await using proxy = await startFaultProxy(app.databaseUrl);
    await using instance = await startAppInstance(proxy.url);
    expect(await ask({ query: "{ jobs { totalCount } }" }, instance)).toMatchObject({ status: 200 });
    proxy.disconnect();
    const response = await instance.request("/graphql", {
      method: "POST",
      key: agent.key,
      body: '{"query":"{ jobs { totalCount } }"}',
    });
    expect(response.status).toBe(503);
    expect(Number(response.get("retry-after"))).toBeGreaterThan(0);
    expect(response.body).toMatchObject({
      errors: [{ extensions: { code: "SERVICE_UNAVAILABLE" } }],
    });
    proxy.restore();
  });
});
