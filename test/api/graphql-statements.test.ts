/** The SQL statements of GraphQL operations, counted on the wire, so that lists never need one per job. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scopes } from "../../src/api-keys/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { startFaultProxy, type FaultProxy, withoutBackground } from "../support/database/fault-proxy.ts";
import { CANCEL_REQUEST } from "../support/database/query-recorder.ts";
import { waitUntilFeedIsComplete } from "../support/app/feed-client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData } from "../support/graphql/client.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually, eventuallyTruthy } from "../support/eventually.ts";

let server: SharedApp;
let numbers: string[];
let operator: SignedInTestUser;
let agent: TestOrganization;
let proxy: FaultProxy;
let app: AppInstance;

const JOBS = 50;

beforeAll(async () => {
  server = await sharedApp("api");
  agent = await server.createOrganization("agent");
  const contractors = await Promise.all([1, 2, 3].map(() => server.createOrganization("contractor")));
  numbers = await server.createJobs(
    agent,
    Array.from({ length: JOBS }, (_, n) => ({
      ...(n % 4 > 0 && { contractor: contractors[n % 3] as TestOrganization }),
    })),
  );
  for (const weight of [1, 2]) {
    const items = numbers.map((markingNumber) => ({ markingNumber, patch: { weight } }));
    await queryData(
      server,
      "mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items) { updatedCount } }",
      { key: agent.key, variables: { items } },
    );
  }
  await waitUntilFeedIsComplete(server.database);
  proxy = await startFaultProxy(server.databaseUrl);
  app = await startAppInstance(proxy.url, { WAYMARK_ROLE: "api" });
  operator = await createSignedInUser(server, null);
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const isPoll = (statement: string): boolean => statement.includes("from access_revision");

/** Waits until `app` has polled for changed keys. Polls can overlap, so the first one that starts now may not be the first to end. */
async function waitForKeyPolls(): Promise<void> {
  const start = proxy.statements.length;
  await eventuallyTruthy(() => proxy.statements.slice(start).filter(isPoll).length > 2);
}

/** Returns the statements of an operation and its data, to check that it succeeded. */
async function statementsOf(query: string, variables: Record<string, unknown> = {}) {
  // Loads the key and the caches first.
  await queryData(app, "{ viewer { kind } jobStatuses { code } jobs(first: 50) { nodes { id } } }", {
    key: agent.key,
  });
  const start = proxy.statements.length;
  const data = await queryData(app, query, { key: agent.key, variables });
  // A cached key is read again after a second.
  const statements = withoutBackground(proxy.statements.slice(start)).filter(
    (statement) => !statement.includes("from api_key"),
  );
  return { data, statements };
}

describe("a list of 50 jobs", () => {
  it("with agent, contractor, history and total takes one statement", async () => {
    const { data, statements } = await statementsOf(
      `{ jobs(first: 50) { totalCount nodes { id agent { name } contractor { name } history(first: 3) { nodes { type } } } } }`,
    );
    expect(data.jobs.nodes).toHaveLength(JOBS);
    const histories: { history: { nodes: unknown[] } }[] = data.jobs.nodes;
    expect(histories.map(({ history }) => history.nodes.length)).toEqual(histories.map(() => 3));
    expect(statements).toHaveLength(1);
  });

  it("with status labels takes two", async () => {
    const { statements } = await statementsOf(
      `{ jobs(first: 50) { edges { node { id status { label } agent { name } } } pageInfo { hasNextPage } } }`,
    );
    expect(statements).toHaveLength(2);
  });

  it("with two different pages of history takes three, also with fragments", async () => {
    const { data, statements } = await statementsOf(
      `query { jobs(first: 50) { nodes { ...Row } } }
       fragment Row on Job { agent { name } newest: history(first: 1) { nodes { ...Event } } some: history(first: 2) { nodes { ...Event } } }
       fragment Event on JobEvent { type sequence }`,
    );
    expect(data.jobs.nodes[0].some.nodes).toHaveLength(2);
    expect(statements).toHaveLength(3);
  });

  it("reads the total only if it is selected", async () => {
    const { statements } = await statementsOf(
      `query ($with: Boolean!) { jobs(first: 50) { totalCount @include(if: $with) nodes { id agent { name } } } }`,
      { with: false },
    );
    expect(statements).toHaveLength(1);
    expect(statements[0]).not.toContain("job_counter");
  });
});

describe("relations reached from several places", () => {
  it("load the jobs of a page of events in one statement", async () => {
    const { data, statements } = await statementsOf(
      "{ events(first: 50) { nodes { type job { markingNumber agent { name } contractor { name } } } } }",
    );
    expect(data.events.nodes).toHaveLength(50);
    expect(statements).toHaveLength(2);
  });

  it("need no statement for the agents and contractors of changed jobs", async () => {
    const items = numbers.slice(0, 20).map((markingNumber) => ({ markingNumber, patch: { weight: 3 } }));
    const { data, statements } = await statementsOf(
      `mutation ($items: [UpdateJobInput!]!) { updateJobs(items: $items) { updatedCount results { job { agent { name } contractor { name } } } } }`,
      { items },
    );
    expect(data.updateJobs.updatedCount).toBe(20);
    expect(statements).toHaveLength(1);
  });

  it("load a hundred Marking Numbers in one statement", async () => {
    const markingNumbers = [...numbers, ...numbers.map((number) => `${number}-unknown`)];
    const { statements } = await statementsOf(
      "query ($markingNumbers: [String!]!) { jobsByMarkingNumber(markingNumbers: $markingNumbers) { id agent { name } } }",
      { markingNumbers },
    );
    expect(statements).toHaveLength(1);
  });
});

it("the viewer's organisation needs no statement", async () => {
  const { data, statements } = await statementsOf("{ viewer { organization { name type } } }");
  expect(data.viewer.organization).toEqual({ name: agent.name, type: "AGENT" });
  expect(statements).toEqual([]);
});

it("counts come from the counters if only counts are selected", async () => {
  const { statements } = await statementsOf("{ jobStats(groupBy: [STATUS]) { total groups { count } } }");
  expect(statements).toHaveLength(1);
  expect(statements[0]).toContain("job_counter");
});

/** `withoutBackground` would leave out reads of the tables that background work uses too. */
function isForegroundRead(statement: string): boolean {
  return /^\s*select/.test(statement) && !isPoll(statement) && !statement.includes("clock_timestamp");
}

/** Returns the number of statements of an operator's query, without those that read the session. */
async function countOperatorStatements(query: string): Promise<number> {
  const headers = { cookie: operator.client.cookie, origin: app.url };
  const counts: number[] = [];
  for (const each of ["{ viewer { kind } }", "{ viewer { kind } }", query]) {
    const start = proxy.statements.length;
    await queryData(app, each, { headers });
    counts.push(proxy.statements.slice(start).filter(isForegroundRead).length);
  }
  const [, session = 0, all = 0] = counts;
  return all - session;
}

describe("an operator's view of organisations", () => {
  it("takes nine for all of one organisation without endpoints", async () => {
    const all = `{ organizationOverview(id: "${toTypedId("org", agent.id)}") {
      organization { name createdAt memberCount activity { lastSeenAt lastRequestAt failingEndpoints requests { failed } } }
      members { email } invitations { email } apiKeys { name } webhookEndpoints { url pending } jobs { total open late }
      requestsInWeek { failed } requestsInMonth { failed } limits { used } rateLimits { class } } }`;
    expect(await countOperatorStatements(all)).toBe(9);
  });

  it("takes two for a page of organisations and the activity of all of them", async () => {
    const query = "{ organizations(first: 20) { nodes { id activity { failingEndpoints lastSeenAt } } } }";
    expect(await countOperatorStatements(query)).toBe(2);
  });
});

async function idsOfKeys(count: number): Promise<string[]> {
  const created = Array.from({ length: count }, (_, n) =>
    server.keys.create({ organizationId: agent.id, name: `key ${n}`, createdBy: "test" }),
  );
  return (await Promise.all(created)).map(({ key }) => toTypedId("key", key.id));
}

it("keys by their ids load in one statement, in the requested order, without other organisations' keys", async () => {
  const other = await server.createOrganization("agent");
  const { key } = await server.keys.create({
    organizationId: other.id,
    name: "another's",
    createdBy: "test",
  });
  const ids = [...(await idsOfKeys(20)), toTypedId("key", key.id)];
  await statementsOf("{ viewer { kind } }");
  const start = proxy.statements.length;
  const data = await queryData(
    app,
    "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on ApiKey { name } } }",
    { key: agent.key, variables: { ids } },
  );
  expect(data.nodes.map((node: { id: string } | null) => node?.id ?? null)).toEqual([
    ...ids.slice(0, -1),
    null,
  ]);
  const reads = proxy.statements.slice(start).filter((statement) => statement.includes(`from "api_key"`));
  expect(reads).toHaveLength(1);
});

const NOBODYS = "01939d5c-0000-7000-8000-000000000000";

// GraphQL's connections cancel abandoned statements; those of REST run on.
describe("a client that disconnects leaves no statement running", () => {
  let operatorKey: string;
  beforeAll(async () => {
    const newKey = { organizationId: null, name: "test", scopes, createdBy: "test" };
    ({ text: operatorKey } = await server.keys.create(newKey));
    // After the first poll that finds new keys, no key is cached.
    await waitForKeyPolls();
  });

  it.each([
    ["jobStatuses", "job_status", "{ jobStatuses { code } }"],
    ["Job.status", "job_status", "{ jobs(first: 1) { nodes { status { label } } } }"],
    ["failureReasons", "failure_reason", "{ failureReasons { code } }"],
    ["organizations", "organization", "{ organizations { nodes { id } } }"],
    ["Organization.memberCount", "user_account", "{ organizations { nodes { memberCount } } }"],
    ["members", "user_account", "{ members { id } }"],
    ["accountRequests", "account_request", "{ accountRequests { nodes { id } } }"],
    ["auditLog", "audit_entry", "{ auditLog { nodes { id } } }"],
    ["mailOutbox", "mail", "{ mailOutbox { nodes { id } } }"],
    ["failingWebhookEndpoints", "webhook_endpoint", "{ failingWebhookEndpoints { id } }"],
    ["apiKeys", "api_key", "{ apiKeys { id } }"],
    ["webhookEndpoints", "webhook_endpoint", "{ webhookEndpoints { id } }"],
    ["a key by its ID", "api_key", `{ node(id: "${toTypedId("key", NOBODYS)}") { id } }`],
    ["an endpoint by its ID", "webhook_endpoint", `{ node(id: "${toTypedId("whe", NOBODYS)}") { id } }`],
  ])("%s", async (_, table, query) => {
    // Authentication must not wait for the locked table. A session reads no keys; a cached key reads nothing, not even its organisation.
    const session = { cookie: operator.client.cookie, origin: app.url };
    const credentials: Record<string, string> = table === "api_key" ? session : { "x-api-key": operatorKey };
    await queryData(app, "{ viewer { kind } }", { headers: credentials });
    const locker = new pg.Client(server.databaseUrl);
    await locker.connect();
    try {
      await locker.query(`begin; lock table ${table} in access exclusive mode`);
      const leaving = new AbortController();
      const abandoned = fetch(`${app.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", ...credentials },
        body: JSON.stringify({ query }),
        signal: leaving.signal,
      }).catch((error: unknown) => (error as Error).name);
      await eventually(async () => expect(await readers(locker, table)).toBe(1));
      proxy.statements.length = 0;
      leaving.abort();
      expect(await abandoned).toBe("AbortError");
      await eventually(async () => expect(await readers(locker, table)).toBe(0));
      // Otherwise its timeout has ended the statement.
      expect(proxy.statements).toContain(CANCEL_REQUEST);
    } finally {
      await locker.end();
    }
  });
});

/** Returns how many sessions wait to read `table`. */
async function readers(watcher: pg.Client, table: string): Promise<number> {
  const { rows } = await watcher.query<{ pid: number }>(
    `select pid from pg_locks join pg_stat_activity using (pid)
     where not granted and mode = 'AccessShareLock' and relation = $1::regclass and query ~ 'select'`,
    [table],
  );
  return rows.length;
}
