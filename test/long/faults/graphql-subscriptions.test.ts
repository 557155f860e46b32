/** GraphQL subscriptions across processes, with interrupted PostgreSQL connections and killed processes. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { expectData } from "../../support/app/assertions.ts";
import {
  readMetric,
  subscribeAndWait,
  type JobSubscription,
  createVisibleJobs,
} from "../../support/graphql/subscription-client.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { queryData } from "../../support/graphql/client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { startServerProcess, type ServerProcess } from "../../support/processes/server-process.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../../support/app/app.fixture.ts";
import { eventually } from "../../support/eventually.ts";

vi.setConfig({ testTimeout: 120_000 });

/** Changes jobs in this process; the subscribers use other processes. */
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function startApi(): Promise<ServerProcess> {
  const server = await startServerProcess({
    DATABASE_URL: app.databaseUrl,
    WAYMARK_ROLE: "api",
    RATE_LIMITS: "off",
    LOG_LEVEL: "warn",
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  await server.waitUntilReady();
  return server;
}

const sequencesOf = ({ events }: Pick<JobSubscription, "events">): number[] =>
  events.map(({ sequence }) => sequence);

async function change(agent: TestOrganization, number: string, weights: readonly number[]): Promise<void> {
  for (const weight of weights) expectData(await patchJob(app, agent, number, { weight }));
}

/** Closes the connections that listen for notifications, and returns how many there were. */
async function cutListeners(): Promise<number> {
  const cut = await app.database.query(sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'waymark event tail'`);
  return cut.length;
}

it("a listener whose connection is closed reconnects, and no change is missed or out of order", async () => {
  const server = await startApi();
  const agent = await app.createOrganization("agent");
  const [number = ""] = await createVisibleJobs(app, agent, [{}]);
  const subscription = await subscribeAndWait(server, agent.key);
  await change(agent, number, [1]);
  await eventually(() => expect(subscription.events).toHaveLength(1));
  for (let round = 0; round < 3; round += 1) {
    await eventually(async () => expect(await cutListeners()).toBe(1));
    await change(agent, number, [10 + round * 2, 11 + round * 2]);
  }
  await eventually(() => expect(subscription.events).toHaveLength(7));
  expect(sequencesOf(subscription)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  expect(server.output()).toContain("lost the LISTEN connection");
});

// evidence: subscription-process-dies
it("a subscriber of a killed process can connect to another one and query the missed events", async () => {
  const [killed, running] = await Promise.all([startApi(), startApi()]);
  const agent = await app.createOrganization("agent");
  const [number = ""] = await createVisibleJobs(app, agent, [{}]);
  const before = await subscribeAndWait(killed, agent.key);
  await change(agent, number, [1, 2]);
  await eventually(() => expect(before.events).toHaveLength(2));
  await killed.kill("SIGKILL");
  expect(await before.ended).toMatchObject({ code: 1006 });
  await change(agent, number, [3, 4]);
  await waitUntilFeedIsComplete(app.database);
  const after = await subscribeAndWait(running, agent.key);
  await change(agent, number, [5]);
  await eventually(() => expect(after.events).toHaveLength(1));
  const query = "query ($after: String!) { events(first: 100, after: $after) { nodes { id sequence } } }";
  const variables = { after: before.events.at(-1)?.cursor };
  await eventually(async () => {
    const { events } = await queryData(running, query, { key: agent.key, variables });
    expect(sequencesOf({ events: events.nodes })).toEqual([4, 5, 6]);
  });
});

it("a server that gets SIGTERM closes subscriptions with 1001 and exits with 0", async () => {
  const server = await startApi();
  const agent = await app.createOrganization("agent");
  const subscription = await subscribeAndWait(server, agent.key);
  expect(await readMetric(server, "waymark_websocket_connections")).toBe(1);
  const ended = server.kill("SIGTERM");
  expect(await subscription.ended).toMatchObject({ code: 1001 });
  expect(await ended).toBe(0);
});
