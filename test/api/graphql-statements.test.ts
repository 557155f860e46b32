/** What GraphQL asks PostgreSQL for: counted on the wire, so that a list never costs a statement a job. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCuttableProxy, type CuttableProxy } from "../support/cuttable-proxy.ts";
import { ask } from "../support/graphql.ts";
import { startInstance, type Instance } from "../support/instance.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

let whole: TestApp;
let agent: Partner;
let proxy: CuttableProxy;
let app: Instance;

const JOBS = 50;
/** What runs at intervals, whoever asks. */
const beside = /access_revision|waymark\.job_count|last_used_at|from api_key|delete from idempotency/;

beforeAll(async () => {
  whole = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await whole.partner("agent");
  const contractors = await Promise.all([1, 2, 3].map(() => whole.partner("contractor")));
  const numbers = await whole.jobs(
    agent,
    Array.from({ length: JOBS }, (_, n) => ({
      markingNumber: `S-${n}`,
      ...(n % 4 > 0 && { contractor: contractors[n % 3] as Partner }),
    })),
  );
  for (const weight of [1, 2]) {
    const items = numbers.map((markingNumber) => ({ markingNumber, patch: { weight } }));
    await ask(whole, "mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items) { updatedCount } }", {
      key: agent.key,
      variables: { items },
    });
  }
  proxy = await startCuttableProxy(whole.databaseUrl);
  app = await startInstance(proxy.url, { WAYMARK_ROLE: "api" });
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
});

/** The statements of an operation, and its data, which makes sure that it did answer. */
async function statementsOf(query: string, variables: Record<string, unknown> = {}) {
  // The key, and what a process remembers, are asked for before.
  await ask(app, "{ viewer { kind } jobStatuses { code } }", { key: agent.key });
  const start = proxy.statements.length;
  const data = await ask(app, query, { key: agent.key, variables });
  const statements = proxy.statements.slice(start).filter((statement) => !beside.test(statement));
  return { data, statements };
}

describe("a list of 50 jobs", () => {
  it("with agent, contractor, history and total is one statement", async () => {
    const { data, statements } = await statementsOf(
      `{ jobs(first: 50) { totalCount nodes { id agent { name } contractor { name } history(first: 3) { nodes { type } } } } }`,
    );
    expect(data.jobs.nodes).toHaveLength(JOBS);
    const histories: { history: { nodes: unknown[] } }[] = data.jobs.nodes;
    expect(histories.map(({ history }) => history.nodes.length)).toEqual(histories.map(() => 3));
    expect(statements).toHaveLength(1);
  });

  it("with its statuses' labels is two", async () => {
    const { statements } = await statementsOf(
      `{ jobs(first: 50) { edges { node { id status { label } agent { name } } } pageInfo { hasNextPage } } }`,
    );
    expect(statements).toHaveLength(2);
  });

  it("with two different pages of history is three, and with fragments no more", async () => {
    const { data, statements } = await statementsOf(
      `query { jobs(first: 50) { nodes { ...Row } } }
       fragment Row on Job { agent { name } newest: history(first: 1) { nodes { ...Event } } some: history(first: 2) { nodes { ...Event } } }
       fragment Event on JobEvent { type sequence }`,
    );
    expect(data.jobs.nodes[0].some.nodes).toHaveLength(2);
    expect(statements).toHaveLength(3);
  });

  it("asks for organisations and total only where they are selected", async () => {
    const { statements } = await statementsOf(
      `query ($with: Boolean!) { jobs(first: 50) { totalCount @include(if: $with) nodes { id agent @include(if: $with) { name } } } }`,
      { with: false },
    );
    expect(statements).toHaveLength(1);
    expect(statements[0]).not.toMatch(/organization agent|job_count/);
  });
});

describe("relations that are reached from several places", () => {
  it("the jobs of a page of events are one statement", async () => {
    const { data, statements } = await statementsOf(
      "{ events(first: 50) { nodes { type job { markingNumber agent { name } contractor { name } } } } }",
    );
    expect(data.events.nodes).toHaveLength(50);
    expect(statements).toHaveLength(2);
  });

  it("the agents and contractors of jobs that were changed are one statement more", async () => {
    const items = Array.from({ length: 20 }, (_, n) => ({ markingNumber: `S-${n}`, patch: { weight: 3 } }));
    const { data, statements } = await statementsOf(
      `mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items) { updatedCount results { job { agent { name } contractor { name } } } } }`,
      { items },
    );
    expect(data.updateJobs.updatedCount).toBe(20);
    expect(statements.filter((statement) => !/pg_notify/.test(statement))).toHaveLength(2);
  });

  it("a hundred Marking Numbers are one statement", async () => {
    const markingNumbers = Array.from({ length: 100 }, (_, n) => `S-${n}`);
    const { statements } = await statementsOf(
      "query ($markingNumbers: [String!]!) { jobsByMarkingNumber(markingNumbers: $markingNumbers) { id agent { name } } }",
      { markingNumbers },
    );
    expect(statements).toHaveLength(1);
  });
});

describe("counts", () => {
  it("come from the counters where nothing but counts is asked", async () => {
    const { statements } = await statementsOf("{ jobStats(groupBy: [STATUS]) { total groups { count } } }");
    expect(statements).toHaveLength(1);
    expect(statements[0]).toContain("job_count");
  });
});
