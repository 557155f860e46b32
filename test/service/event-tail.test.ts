/** Following the feed: each event once, in its order, to those who may see it, whatever happens to notifications. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../src/app/entities.ts";
import { SlowReaderError } from "../../src/events/event.buffer.ts";
import type { TailRow } from "../../src/events/event.tail-query.ts";
import { createEventNotifier } from "../../src/events/event.notifier.ts";
import { createEventTail, type EventTail } from "../../src/events/event.tail.ts";
import { SubscriberGroup, type TailQuery } from "../../src/events/event.subscription.ts";
import type { JobPatch } from "../../src/jobs/job.fields.ts";
import { assignContractors, upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import {
  openDatabase,
  type Database,
  type Queryable,
  type Transaction,
} from "../../src/platform/postgres/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { systemActor, type OrganizationType, type Principal } from "../../src/platform/principal.ts";
import { sql, type Sql } from "../../src/platform/postgres/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";

let testDatabase: TestDatabase;
let database: Database;
let happened: (organizationIds: readonly string[]) => void;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 10, entities });
  happened = createEventNotifier(database);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

const context = { actor: systemActor, requestId: null };
const everything: TailQuery = { condition: null, types: [] };
const operator: Principal = { organizationId: null, organizationType: null, actor: systemActor };

type Partner = Extract<Principal, { organizationId: string }>;

async function partner(type: OrganizationType): Promise<Partner> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await createOrganizationService({ database }).create({ name, type });
  return { organizationId: id, organizationType: type, actor: systemActor };
}

function openTail(queryable: Queryable = database): EventTail {
  const tail = createEventTail({
    database: queryable,
    databaseUrl: testDatabase.url,
    logger: createLogger("silent"),
  });
  onTestFinished(() => tail[Symbol.asyncDispose]());
  return tail;
}

function openCountedTail(): { tail: EventTail; looks: () => number } {
  let looks = 0;
  const tail = openTail({
    query: (statement) => {
      looks += 1;
      return database.query(statement);
    },
  });
  return { tail, looks: () => looks };
}

/** What one subscription has got so far. */
async function follow(tail: EventTail, viewer: Principal, query: TailQuery = everything): Promise<TailRow[]> {
  const events = await tail.subscribe(viewer, query);
  onTestFinished(() => void events.return());
  const got: TailRow[] = [];
  void (async () => {
    for await (const event of events) got.push(event);
  })();
  return got;
}

async function upsert(tx: Transaction, agent: Partner, number: string, patch: JobPatch = {}): Promise<void> {
  await upsertRows(tx, [{ markingNumber: number, agentId: agent.organizationId, patch }], context);
}

/** Makes or changes one job, and tells. */
async function change(agent: Partner, number: string, patch: JobPatch = {}): Promise<void> {
  await database.transaction((tx) => upsert(tx, agent, number, patch));
  happened([agent.organizationId]);
}

async function feedOf(viewer: Partner): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event
    where ${viewer.organizationId}::uuid in (agent_id, contractor_id) order by transaction_id, position`);
  return rows.map(({ id }) => id);
}

/** Connections on which a process listens. */
async function listeners(): Promise<number> {
  const [row] = await database.query<{
    count: number;
  }>(sql`select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'waymark event tail'`);
  return row?.count ?? 0;
}

/** How many events the feed shows: those that no older transaction withholds. */
async function shownTo(viewer: Partner): Promise<number> {
  const rows = await database.query(sql`select from job_event
    where agent_id = ${viewer.organizationId} and transaction_id < pg_snapshot_xmin(pg_current_snapshot())`);
  return rows.length;
}

const newNumber = (): string => `MN-${randomBytes(6).toString("hex")}`;
const typesOf = (rows: readonly TailRow[]): string[] => rows.map(({ type }) => type);
const idsOf = (rows: readonly TailRow[]): string[] => rows.map(({ id }) => id);

it("tells the agent, and the contractor from its assignment on, and nobody else", async () => {
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
  happened([agent.organizationId, contractor.organizationId]);
  await change(agent, number, { weight: 2 });
  await change(other, newNumber());

  await vi.waitFor(() => {
    expect(typesOf(byAgent)).toEqual(["job.created", "job.assigned", "job.updated"]);
    expect(typesOf(byContractor)).toEqual(["job.assigned", "job.updated"]);
    expect(typesOf(byOther)).toEqual(["job.created"]);
    expect(typesOf(byOperator)).toEqual(["job.created", "job.assigned", "job.updated", "job.created"]);
  }, 20_000);
});

it("begins where the feed ends when it is asked for: what was shown by then is not told, what comes later is", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const first = await follow(tail, agent);
  // Nobody notifies, so that the same look finds the event and begins the second.
  await database.transaction((tx) => upsert(tx, agent, newNumber()));
  await vi.waitFor(async () => expect(await shownTo(agent)).toBe(1), 20_000);
  const second = await follow(tail, agent);
  await change(agent, newNumber());
  await vi.waitFor(() => expect(first).toHaveLength(2), 20_000);
  await vi.waitFor(() => expect(second).toHaveLength(1));
  expect(idsOf(second)).toEqual(idsOf(first).slice(1));
});

it("leaves out nothing where numbers beyond the last event are given again, as after a crash", async () => {
  const agent = await partner("agent");
  let hasCrashed = false;
  const tail = openTail({
    query: async <Row>(statement: Sql) => {
      const rows = await database.query<Row & { feed_end?: string; feed_next?: string }>(statement);
      // Until then there are transactions that leave nothing on disk: the numbers are higher than those to come.
      return rows.map(({ feed_end: end, feed_next: next, ...row }) => ({
        ...row,
        ...(end !== undefined && { feed_end: String(BigInt(end) + (hasCrashed ? 0n : 1_000n)) }),
        ...(next !== undefined && { feed_next: String(BigInt(next) + (hasCrashed ? 0n : 1_000n)) }),
      })) as Row[];
    },
  });
  const first = await follow(tail, agent);
  await change(agent, newNumber());
  await vi.waitFor(() => expect(first).toHaveLength(1), 20_000);
  const second = await follow(tail, agent);
  hasCrashed = true;
  await change(agent, newNumber());
  await vi.waitFor(() => expect(first).toHaveLength(2), 20_000);
  await vi.waitFor(() => expect(second).toHaveLength(1));
  expect(idsOf(second)).toEqual(idsOf(first).slice(1));
});

it("tells each event once and in the feed's order while many write, to those who come in the middle as well", async () => {
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
  await vi.waitFor(() => expect(whole).toHaveLength(200), 20_000);
  const feed = await feedOf(agent);
  expect(idsOf(whole)).toEqual(feed);
  // Whoever came later has the rest of the feed, without a gap.
  await vi.waitFor(() => {
    for (const rows of late) expect(idsOf(rows)).toEqual(rows.length > 0 ? feed.slice(-rows.length) : []);
    expect(late.some((rows) => rows.length > 0)).toBe(true);
  });
});

it("an event that an older transaction withholds comes once that ends, in the feed's order, though nobody notifies", async () => {
  const agent = await partner("agent");
  const { tail, looks } = openCountedTail();
  const got = await follow(tail, agent);
  await database.transaction(async (tx) => {
    await upsert(tx, agent, "OLDER-AND-OPEN");
    await change(agent, "LATER-AND-DONE");
    // Looks pass that find nothing to show.
    const before = looks();
    await vi.waitFor(() => expect(looks()).toBeGreaterThan(before + 2), 20_000);
    expect(got).toEqual([]);
  });
  await vi.waitFor(() => expect(got).toHaveLength(2), { timeout: 4_000 });
  expect(idsOf(got)).toEqual(await feedOf(agent));
});

it("what no notification told of is found by the sweep", async () => {
  const agent = await partner("agent");
  const { tail, looks } = openCountedTail();
  const got = await follow(tail, agent);
  await change(agent, newNumber());
  await vi.waitFor(() => expect(got).toHaveLength(1), 20_000);
  // The looks that a notification brings have passed.
  let before = -1;
  const quiet = (): void => {
    const seen = before;
    before = looks();
    expect(seen).toBe(before);
  };
  await vi.waitFor(quiet, { timeout: 20_000, interval: 300 });
  await database.transaction((tx) => upsert(tx, agent, newNumber()));
  await vi.waitFor(() => expect(got).toHaveLength(2), 20_000);
});

it("tells of more than one look can hold, from one commit, in order", async () => {
  const agent = await partner("agent");
  const got = await follow(openTail(), agent);
  const upserts = Array.from({ length: 900 }, () => ({
    markingNumber: newNumber(),
    agentId: agent.organizationId,
    patch: {},
  }));
  await database.transaction((tx) => upsertRows(tx, upserts, context));
  happened([agent.organizationId]);
  await vi.waitFor(() => expect(got).toHaveLength(900), 20_000);
  expect(idsOf(got)).toEqual(await feedOf(agent));
});

it("a condition is held against the job as the change left it, not as it is now", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const heavy: Sql = sql`job.weight > ${10}`;
  const all = await follow(tail, agent);
  const matching = await follow(tail, agent, { condition: heavy, types: [] });
  const updates = await follow(tail, agent, { condition: heavy, types: ["job.updated"] });
  const number = newNumber();
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 50 }));
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 60 }));
  await database.transaction((tx) => upsert(tx, agent, number, { weight: 5 }));
  happened([agent.organizationId]);
  await vi.waitFor(() => expect(all).toHaveLength(3), 20_000);
  await vi.waitFor(() => expect(idsOf(matching)).toEqual(idsOf(all).slice(0, 2)));
  expect(idsOf(updates)).toEqual(idsOf(all).slice(1, 2));
});

it("a condition that fails ends those who asked for it, and nobody else", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const failing = await tail.subscribe(agent, {
    condition: sql`1 / (job.weight - job.weight) > 0`,
    types: [],
  });
  const others = await follow(tail, agent);
  const end = failing.next();
  await change(agent, newNumber(), { weight: 1 });
  await expect(end).rejects.toThrow("division by zero");
  expect(await failing.next()).toEqual({ done: true, value: undefined });
  await change(agent, newNumber());
  await vi.waitFor(() => expect(others).toHaveLength(2), 20_000);
});

it("refuses one filter more than it can hold against each event, and takes another once one is gone", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const ask = (weight: number): ReturnType<EventTail["subscribe"]> =>
    tail.subscribe(agent, { condition: sql`job.weight > ${weight}`, types: [] });
  const taken = await Promise.all(Array.from({ length: 50 }, (_, at) => ask(at)));
  await expect(ask(50)).rejects.toMatchObject({ code: "TooManyRequestsException" });
  // The same as one that is followed already is no other.
  await (await ask(7)).return();
  await taken[0]?.return();
  await (await ask(50)).return();
});

it("a reader who reads nothing is told that it is too slow, and holds nothing any more", async () => {
  const agent = await partner("agent");
  const tail = openTail();
  const slow = await tail.subscribe(agent, everything);
  const quick = await follow(tail, agent);
  const upserts = Array.from({ length: 1_001 }, () => ({
    markingNumber: newNumber(),
    agentId: agent.organizationId,
    patch: {},
  }));
  await database.transaction((tx) => upsertRows(tx, upserts, context));
  happened([agent.organizationId]);
  await vi.waitFor(() => expect(quick).toHaveLength(1_001), 20_000);
  await expect(slow.next()).rejects.toThrow(SlowReaderError);
  expect(await slow.next()).toEqual({ done: true, value: undefined });
});

it("ends at once, also while its reader waits for an event", async () => {
  const events = await openTail().subscribe(await partner("agent"), everything);
  const waiting = events.next();
  await events.return();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

it("listens only while somebody follows, and stops in good order with followers and newcomers", async () => {
  const tail = openTail();
  await vi.waitFor(async () => expect(await listeners()).toBe(0), 20_000);
  const agent = await partner("agent");
  const events = await tail.subscribe(agent, everything);
  await vi.waitFor(async () => expect(await listeners()).toBe(1), 20_000);
  const waiting = events.next();
  const coming = tail.subscribe(agent, everything).catch((error: unknown) => error);
  await tail[Symbol.asyncDispose]();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(await coming).toMatchObject({ code: "ServiceUnavailableException" });
  await expect(tail.subscribe(agent, everything)).rejects.toMatchObject({
    code: "ServiceUnavailableException",
  });
  await vi.waitFor(async () => expect(await listeners()).toBe(0), 20_000);
});

it("refuses who comes while the database is away, and loses nothing for those who follow", async () => {
  const agent = await partner("agent");
  let isAway = false;
  const tail = openTail({
    query: async (statement) => {
      if (isAway) throw new Error("away");
      return await database.query(statement);
    },
  });
  const got = await follow(tail, agent);
  isAway = true;
  await change(agent, newNumber());
  await expect(tail.subscribe(agent, everything)).rejects.toThrow("away");
  isAway = false;
  await vi.waitFor(() => expect(got).toHaveLength(1), 20_000);
});

it("whoever comes after the last follower left in the middle of a look begins at the feed's end", async () => {
  const agent = await partner("agent");
  let held: Promise<void> | null = null;
  const looks: { isHeld: boolean; rows: number }[] = [];
  const tail = openTail({
    async query<Row>(statement: Sql): Promise<Row[]> {
      const look = { isHeld: held !== null, rows: -1 };
      looks.push(look);
      await held;
      const found = await database.query<Row>(statement);
      look.rows = found.filter((row) => (row as { id?: unknown }).id !== null).length;
      return found;
    },
  });
  const events = await tail.subscribe(agent, everything);
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  happened([agent.organizationId]);
  await vi.waitFor(() => expect(looks.at(-1)?.isHeld).toBe(true), 20_000);
  await events.return();
  held = null;
  resolve();
  await vi.waitFor(() => expect(looks.at(-1)?.rows).toBe(0), 20_000);

  await database.transaction((tx) => upsert(tx, agent, newNumber()));
  await vi.waitFor(async () => expect(await shownTo(agent)).toBe(1), 20_000);
  const before = looks.length;
  const got = await follow(tail, agent);
  expect(looks[before]?.rows).toBe(0);
  await change(agent, newNumber());
  await vi.waitFor(() => expect(got).toHaveLength(1), 20_000);
});

/** More than may wait. */
const manyOf = (transaction: string): TailRow[] =>
  Array.from({ length: 5_001 }, () => ({ transaction_id: transaction }) as TailRow);

it("what happened before a filter was followed fills nothing, however much it is and however busy the database", () => {
  const audience = new SubscriberGroup(operator, database, () => new Promise(() => undefined));
  const subscription = audience.add({ condition: sql`true`, types: [] }, () => undefined);
  audience.push(manyOf("9"));
  subscription.fromTransaction = 10n;
  audience.push(manyOf("9"));
  expect(audience.isEmpty).toBe(false);
  audience.push(manyOf("10"));
  expect(audience.isEmpty).toBe(true);
});
