/** The event tail: delivers each event once, in order and only to principals that can see it, even if notifications are lost. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import type { TailRow } from "../../../src/events/tail.sql.ts";
import {
  createEventNotifier,
  EventTail,
  type EventStream,
  type TailQuery,
} from "../../../src/events/tail.ts";
import type { JobPatch } from "../../../src/jobs/fields.ts";
import { assignContractors, upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { openDatabase, type Database, type Queryable } from "../../../src/core/postgres/database.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import { unavailable } from "../../../src/core/errors.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { systemActor, type OrganizationType, type Principal } from "../../../src/core/principal.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

const resources = new AsyncDisposableStack();
let databaseUrl: string;
let database: Database;
let notifySubscribers: (organizationIds: readonly string[]) => void;
beforeAll(async () => {
  databaseUrl = resources.use(await createTestDatabase()).url;
  database = resources.use(await openDatabase({ url: databaseUrl, poolSize: 10, entities }));
  notifySubscribers = createEventNotifier(database);
});
afterAll(() => resources.disposeAsync());

const context = { actor: systemActor, requestId: null };
const everything: TailQuery = { filter: null, types: [] };
const operator: Principal = { organizationId: null, organizationType: null, actor: systemActor };

type Partner = Extract<Principal, { organizationId: string }>;

async function partner(type: OrganizationType): Promise<Partner> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await new OrganizationService({ database }).create({ name, type });
  return { organizationId: id, organizationType: type, actor: systemActor };
}

function openTail(queryable: Queryable = database): EventTail {
  const tail = new EventTail({
    database: queryable,
    databaseUrl,
    logger: createLogger("silent"),
  });
  onTestFinished(() => tail[Symbol.asyncDispose]());
  return tail;
}

function openCountedTail(): { tail: EventTail; polls: () => number } {
  let polls = 0;
  const tail = openTail({
    query: (statement) => {
      polls += 1;
      return database.query(statement);
    },
  });
  return { tail, polls: () => polls };
}

/** Returns the events, and a function that ends the subscription. */
async function open(
  tail: EventTail,
  principal: Principal,
  query: TailQuery = everything,
): Promise<{ events: EventStream; end: () => void }> {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  return { events: await tail.subscribe(principal, query, ending.signal), end: () => ending.abort() };
}

/** Subscribes and returns the array that collects the received events. */
async function follow(
  tail: EventTail,
  principal: Principal,
  query: TailQuery = everything,
): Promise<TailRow[]> {
  const { events } = await open(tail, principal, query);
  const received: TailRow[] = [];
  void (async () => {
    for await (const event of events) received.push(event);
  })();
  return received;
}

/** Subscribes to a new tail, whose sweep then never runs. */
async function followWithoutSweep(tail: EventTail, principal: Principal): Promise<TailRow[]> {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  return await follow(tail, principal).finally(() => vi.useRealTimers());
}

/** Resolves when the polls that followed a notification have ended. */
async function waitUntilQuiet(polls: () => number): Promise<void> {
  let before = -1;
  const look = (): void => {
    const seen = before;
    before = polls();
    expect(seen).toBe(before);
  };
  await eventually(look, { intervalMs: 300 });
}

async function upsert(tx: Transaction, agent: Partner, number: string, patch: JobPatch = {}): Promise<void> {
  await upsertRows(tx, [{ markingNumber: number, agentId: agent.organizationId, patch }], context);
}

/** Creates or changes a job and notifies subscribers. */
async function change(agent: Partner, number: string, patch: JobPatch = {}): Promise<void> {
  await database.transaction((tx) => upsert(tx, agent, number, patch));
  notifySubscribers([agent.organizationId]);
}

async function feedOf(principal: Partner): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event
    where ${principal.organizationId}::uuid in (agent_id, contractor_id) order by transaction_id, position`);
  return rows.map(({ id }) => id);
}

/** The number of LISTEN connections. */
async function listeners(): Promise<number> {
  const [row] = await database.query<{
    count: number;
  }>(sql`select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'waymark event tail'`);
  return row?.count ?? 0;
}

/** The number of the agent's events that no older transaction hides. */
async function shownTo(principal: Partner): Promise<number> {
  const rows = await database.query(sql`select from job_event
    where agent_id = ${principal.organizationId} and transaction_id < pg_snapshot_xmin(pg_current_snapshot())`);
  return rows.length;
}

const newNumber = (): string => `MN-${randomBytes(6).toString("hex")}`;
const typesOf = (rows: readonly TailRow[]): string[] => rows.map(({ type }) => type);
const idsOf = (rows: readonly TailRow[]): string[] => rows.map(({ id }) => id);

it("sends events to the agent, to the contractor from the assignment on, and to operators", async () => {
  const [agent, contractor, other] = [
    await partner("agent"),
    await partner("contractor"),
    await partner("agent"),
  ];
  const tail = openTail();
  const byAgent = await follow(tail, agent);
  const byContractor = await follow(tail, contractor);
  const byOther = await follow(tail, other);
  const byOperator = await follow(tail, operator);
  const number = newNumber();
  await change(agent, number);
  const assignment = [{ markingNumber: number, contractorId: contractor.organizationId }];
  await database.transaction((tx) => assignContractors(tx, assignment, context));
  notifySubscribers([agent.organizationId, contractor.organizationId]);
  await change(agent, number, { weight: 2 });
  await change(other, newNumber());

  await eventually(() => {
    expect(typesOf(byAgent)).toEqual(["job.created", "job.assigned", "job.updated"]);
    expect(typesOf(byContractor)).toEqual(["job.assigned", "job.updated"]);
    expect(typesOf(byOther)).toEqual(["job.created"]);
    expect(typesOf(byOperator)).toEqual(["job.created", "job.assigned", "job.updated", "job.created"]);
  });
});

it("a subscription receives only events that become visible after it starts", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const first = await follow(tail, agent);
  // No notification, so that the same poll finds the event and starts the second subscription.
  await database.transaction((tx) => upsert(tx, agent, newNumber()));
  await eventually(async () => expect(await shownTo(agent)).toBe(1));
  const second = await follow(tail, agent);
  await change(agent, newNumber());
  await eventually(() => expect(first).toHaveLength(2));
  await eventually(() => expect(second).toHaveLength(1));
  expect(idsOf(second)).toEqual(idsOf(first).slice(1));
});

it("misses no event if transaction ids are assigned again after a crash", async () => {
  const agent = await partner("agent");
  let hasCrashed = false;
  const tail = openTail({
    query: async <Row>(statement: Sql) => {
      const rows = await database.query<Row & { feed_end?: string; feed_next?: string }>(statement);
      // Before the crash, transactions that leave nothing on disk had used higher ids.
      return rows.map(({ feed_end: end, feed_next: next, ...row }) => ({
        ...row,
        ...(end !== undefined && { feed_end: String(BigInt(end) + (hasCrashed ? 0n : 1_000n)) }),
        ...(next !== undefined && { feed_next: String(BigInt(next) + (hasCrashed ? 0n : 1_000n)) }),
      })) as Row[];
    },
  });
  const first = await follow(tail, agent);
  await change(agent, newNumber());
  await eventually(() => expect(first).toHaveLength(1));
  const second = await follow(tail, agent);
  hasCrashed = true;
  await change(agent, newNumber());
  await eventually(() => expect(first).toHaveLength(2));
  await eventually(() => expect(second).toHaveLength(1));
  expect(idsOf(second)).toEqual(idsOf(first).slice(1));
});

it("delivers each event once and in feed order under concurrent writes, also to later subscribers", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const whole = await follow(tail, agent);
  const late: TailRow[][] = [];
  const write = async (): Promise<void> => {
    const number = newNumber();
    for (let weight = 1; weight <= 25; weight += 1) {
      await change(agent, number, { weight });
      if (weight % 8 === 0) late.push(await follow(tail, agent));
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  await eventually(() => expect(whole).toHaveLength(200));
  const feed = await feedOf(agent);
  expect(idsOf(whole)).toEqual(feed);
  // Later subscribers received the rest of the feed without a gap.
  await eventually(() => {
    for (const rows of late) expect(idsOf(rows)).toEqual(rows.length > 0 ? feed.slice(-rows.length) : []);
    expect(late.some((rows) => rows.length > 0)).toBe(true);
  });
});

it("delivers a hidden event in feed order when the older transaction ends, without a notification", async () => {
  const agent = await partner("agent");
  const { tail, polls } = openCountedTail();
  const received = await followWithoutSweep(tail, agent);
  await database.transaction(async (tx) => {
    await upsert(tx, agent, "OLDER-AND-OPEN");
    await change(agent, "LATER-AND-DONE");
    // Some polls find no visible event.
    const before = polls();
    await eventually(() => expect(polls()).toBeGreaterThan(before + 2));
    expect(received).toEqual([]);
  });
  await eventually(() => expect(received).toHaveLength(2));
  expect(idsOf(received)).toEqual(await feedOf(agent));
});

it("a notification delivers an event without the sweep", async () => {
  const agent = await partner("agent");
  const { tail, polls } = openCountedTail();
  const received = await followWithoutSweep(tail, agent);
  await waitUntilQuiet(polls);
  await change(agent, newNumber());
  await eventually(() => expect(received).toHaveLength(1));
});

it("the sweep finds an event without a notification", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const agent = await partner("agent");
  const { tail, polls } = openCountedTail();
  const received = await follow(tail, agent);
  await change(agent, newNumber());
  await eventually(() => expect(received).toHaveLength(1));
  await waitUntilQuiet(polls);
  await database.transaction((tx) => upsert(tx, agent, newNumber()));
  vi.advanceTimersToNextTimer();
  await eventually(() => expect(received).toHaveLength(2));
});

it("delivers more events of one commit than fit on a page, in order", async () => {
  const agent = await partner("agent");
  const received = await follow(openTail(), agent);
  const upserts = Array.from({ length: 900 }, () => ({
    markingNumber: newNumber(),
    agentId: agent.organizationId,
    patch: {},
  }));
  await database.transaction((tx) => upsertRows(tx, upserts, context));
  notifySubscribers([agent.organizationId]);
  await eventually(() => expect(received).toHaveLength(900));
  expect(idsOf(received)).toEqual(await feedOf(agent));
});

it("a filter applies to the job after the change, not to its current state", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const heavy = { weight: { gt: 10 } };
  const all = await follow(tail, agent);
  const matching = await follow(tail, agent, { filter: heavy, types: [] });
  const updates = await follow(tail, agent, { filter: heavy, types: ["job.updated"] });
  const number = newNumber();
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 50 }));
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 60 }));
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 5 }));
  notifySubscribers([agent.organizationId]);
  await eventually(() => expect(all).toHaveLength(3));
  await eventually(() => expect(idsOf(matching)).toEqual(idsOf(all).slice(0, 2)));
  expect(idsOf(updates)).toEqual(idsOf(all).slice(1, 2));
});

it("a failing filter ends only its own subscriptions", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const filter = { scheduledDate: { eq: "no date" } };
  const { events: failing } = await open(tail, agent, { filter, types: [] });
  const others = await follow(tail, agent);
  await expect(failing.next()).rejects.toThrow("invalid input syntax for type date");
  expect(await failing.next()).toEqual({ done: true, value: undefined });
  await change(agent, newNumber());
  await eventually(() => expect(others).toHaveLength(1));
});

it("rejects a 51st different filter and accepts it after another one ended", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const openFiltered = (weight: number) =>
    open(tail, agent, { filter: { weight: { gt: weight } }, types: [] });
  const [first] = await Promise.all(Array.from({ length: 50 }, (_, index) => openFiltered(index)));
  await expect(openFiltered(50)).rejects.toMatchObject({ code: "TooManyRequestsException" });
  // An equal filter does not count twice.
  await openFiltered(7);
  first?.end();
  await openFiltered(50);
});

it("a reader that falls behind continues where it was, from the feed", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const { events: slow } = await open(tail, agent);
  const quick = await follow(tail, agent);
  for (let count = 0; count < 3; count += 1) {
    await change(agent, newNumber());
    await eventually(() => expect(quick).toHaveLength(count + 1));
  }
  for (const { id } of quick) expect((await slow.next()).value).toMatchObject({ id });
});

it("subscriptions that wait for the same events share a statement, also with equal filters", async () => {
  const agent = await partner("agent");
  const { tail, polls } = openCountedTail();
  const filter = { weight: { gt: 1 } };
  const followers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      follow(tail, agent, { filter: index % 2 === 0 ? filter : null, types: [] }),
    ),
  );
  await waitUntilQuiet(polls);
  const before = polls();
  await change(agent, newNumber(), { weight: 2 });
  await eventually(() => expect(followers.every(({ length }) => length === 1)).toBe(true));
  await waitUntilQuiet(polls);
  // At most the event, and once more after it or after the sweep, for each of two filters.
  expect(polls() - before).toBeLessThan(20);
});

it("a subscription ends while its reader waits for an event", async () => {
  const { events, end } = await open(openTail(), await partner("agent"));
  const waiting = events.next();
  end();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

it("listens from the first subscription on, and ends active and pending ones when it stops", async () => {
  const tail = openTail();
  await eventually(async () => expect(await listeners()).toBe(0));
  const agent = await partner("agent");
  const { events } = await open(tail, agent);
  await eventually(async () => expect(await listeners()).toBe(1));
  const waiting = events.next();
  const pendingSubscription = open(tail, agent).catch((error: unknown) => error);
  await tail[Symbol.asyncDispose]();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(await pendingSubscription).toMatchObject({ code: "ServiceUnavailableException" });
  await expect(open(tail, agent)).rejects.toMatchObject({
    code: "ServiceUnavailableException",
  });
  await eventually(async () => expect(await listeners()).toBe(0));
});

it("rejects new subscriptions while the database is unavailable and loses no event of existing ones", async () => {
  const agent = await partner("agent");
  let isAway = false;
  const tail = openTail({
    query: async (statement) => {
      if (isAway) throw unavailable("away", 1);
      return await database.query(statement);
    },
  });
  const received = await follow(tail, agent);
  isAway = true;
  await change(agent, newNumber());
  await expect(open(tail, agent)).rejects.toThrow("away");
  isAway = false;
  await eventually(() => expect(received).toHaveLength(1));
});
