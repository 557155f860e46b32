/** Requests of one partner that wait for locks leave connections to other partners and to background tasks. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createFactories, type TestOrganization } from "../support/app/app.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import { getJob, listJobs, patchJob } from "../support/app/job-client.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { graphql } from "../support/graphql/client.ts";
import { MAX_WAITING } from "../../src/api/in-flight.ts";
import { sql } from "../../src/core/postgres/sql.ts";

const CONNECTIONS = 10;
const SHARE = CONNECTIONS / 2;
const UPDATE =
  "mutation ($number: String!) { updateJob(input: { markingNumber: $number, patch: { weight: 3 } }) { job { weight } } }";

let app: AppInstance & ReturnType<typeof createFactories>;
let agent: TestOrganization;
let other: TestOrganization;
let numbers: string[];

beforeAll(async () => {
  const { databaseUrl } = await sharedApp("api");
  const instance = await startAppInstance(databaseUrl, {
    WAYMARK_ROLE: "api",
    LOAD_SHEDDING: "on",
    RATE_LIMITS: "on",
    DATABASE_POOL_SIZE: String(CONNECTIONS),
  });
  app = { ...instance, ...createFactories(instance) };
  const ample = { perSecond: 1_000, burst: 1_000 };
  agent = await app.createOrganization("agent", { rateLimits: { read: ample, write: ample, batch: ample } });
  other = await app.createOrganization("agent");
  numbers = await app.createJobs(agent, [{}, {}, {}]);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Locks the rows of `locked`. */
const lockRows = (locked: readonly string[]) =>
  openTransaction(
    app.database,
    sql`select from job where marking_number = any(${locked}::text[]) for update`,
  );

const updateBatch = (items: readonly string[]) =>
  app.call("/v1/jobs/batch", {
    method: "PATCH",
    key: agent.key,
    body: JSON.stringify({ jobs: items.map((marking_number) => ({ marking_number, weight: 2 })) }),
  });

/** Selects the number of sessions that wait for a lock. */
const waiting = sql`
  select count(*)::int as held from pg_stat_activity
  where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`;

const statusesOf = (responses: readonly ApiResponse[]) => responses.map(({ status }) => status);

// evidence: partner-share-of-connections
it("gives one partner half of the connections, over REST and GraphQL together; others are served", async () => {
  const [number = ""] = numbers;
  const held = await lockRows([number]);
  const patches = Array.from({ length: 15 }, (_, index) => patchJob(app, agent, number, { weight: index }));
  const mutations = Array.from({ length: 15 }, () =>
    graphql(app, UPDATE, { key: agent.key, variables: { number } }),
  );
  await waitForBlockedSessions(app.database, SHARE);
  for (let index = 0; index < 20; index += 1) expectData(await listJobs(app, other));
  expect(await app.database.query(waiting)).toEqual([{ held: SHARE }]);
  await held.commit();
  expect(statusesOf(await Promise.all(patches))).toEqual(Array(15).fill(200));
  for (const { data } of await Promise.all(mutations)) expect(data.updateJob.job).toEqual({ weight: 3 });
});

it("leaves two connections to background tasks, however many partners wait", async () => {
  const partners = await Promise.all(Array.from({ length: 6 }, () => app.createOrganization("agent")));
  const theirs = await Promise.all(partners.map((partner) => app.createJobs(partner, [{}])));
  const held = await lockRows(theirs.flat());
  const patches = partners.flatMap((partner, index) => {
    const [number = ""] = theirs[index] ?? [];
    return [1, 2].map((weight) => patchJob(app, partner, number, { weight }));
  });
  await waitForBlockedSessions(app.database, CONNECTIONS - 2);
  // Both connections answer at the same time.
  const rows = await Promise.all([waiting, waiting].map((statement) => app.database.query(statement)));
  expect(rows.flat()).toEqual([{ held: CONNECTIONS - 2 }, { held: CONNECTIONS - 2 }]);
  await held.commit();
  expect(statusesOf(await Promise.all(patches))).toEqual(Array(12).fill(200));
});

// evidence: partner-share-bulk
it("runs two changes of many jobs of one partner at a time", async () => {
  const held = await lockRows(numbers);
  const batches = Array.from({ length: 8 }, () => updateBatch(numbers));
  await waitForBlockedSessions(app.database, 2);
  // Other requests of the partner have the rest of its share.
  expectData(await listJobs(app, agent));
  expect(await app.database.query(waiting)).toEqual([{ held: 2 }]);
  await held.commit();
  expect(statusesOf(await Promise.all(batches))).toEqual(Array(8).fill(200));
});

// evidence: partner-share-waiting
it("answers 429 with Retry-After beyond a hundred waiting requests, and changes nothing", async () => {
  const [number = ""] = numbers;
  const held = await lockRows([number]);
  const responses = Promise.all(
    Array.from({ length: SHARE + MAX_WAITING + 3 }, () => patchJob(app, agent, number, { weight: 7 })),
  );
  expectData(await listJobs(app, other));
  await waitForBlockedSessions(app.database, SHARE);
  const refused = await patchJob(app, agent, number, { weight: 8 });
  expectFailure(refused, 429, "Too many requests of your organisation are in progress");
  expect(refused.headers.get("retry-after")).toBe("1");
  await held.commit();
  const statuses = statusesOf(await responses);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  expect(statuses.filter((status) => status === 200)).toHaveLength(SHARE + MAX_WAITING);
});

it("gives up waiting for a lock, and says that the same data is being changed", async () => {
  const { databaseUrl } = await sharedApp("api");
  const options = { lockTimeoutMs: 100 };
  await using impatient = await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }, options);
  const [number = ""] = numbers;
  const before = expectData(await getJob(app, agent, number));
  const held = await lockRows([number]);
  const refused = await patchJob(impatient, agent, number, { weight: 9 });
  await held.commit();
  expectFailure(refused, 503, "Another request is changing the same data");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(expectData(await getJob(app, agent, number))).toEqual(before);
});
