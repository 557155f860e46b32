import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Registry } from "prom-client";
import { entities } from "../../src/app/entities.ts";
import { openDatabase, type Database, type Queryable } from "../../src/core/postgres/database.ts";
import { newUuid, toTypedId } from "../../src/core/ids.ts";
import { createLogger } from "../../src/core/logger.ts";
import { openReplicas, parseRows, withHorizon, type Replicas } from "../../src/core/replicas.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { queryData } from "../support/graphql/client.ts";
import { openTransaction } from "../support/database/blocked-sessions.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { expectData } from "../support/app/assertions.ts";
import { getJob, listJobs, markingNumbersOf, patchJob } from "../support/app/job-client.ts";
import {
  startReplicatedPostgres,
  type ReplicatedPostgres,
  type Standby,
} from "../support/database/standby.ts";
import { createFactories, type TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

/** Two independent service processes, each with its own connections. */
let one: AppInstance;
let other: AppInstance;
let postgres: ReplicatedPostgres;
let standby: Standby;
let proxy: FaultProxy;
/** A connection to the standby itself. */
let reading: Database;
const opened = new AsyncDisposableStack();

let agent: TestOrganization;
let contractor: TestOrganization;
let operator: string;
let number: string;

beforeAll(async () => {
  postgres = opened.use(await startReplicatedPostgres());
  standby = await postgres.addStandby(["-c", "max_standby_streaming_delay=100ms"]);
  reading = opened.use(await openDatabase({ url: standby.url, poolSize: 2, entities }));
  proxy = opened.use(await startFaultProxy(standby.url));
  const settings = { DATABASE_REPLICA_URLS: proxy.url };
  one = opened.use(await startAppInstance(postgres.url, settings));
  other = opened.use(await startAppInstance(postgres.url, settings));
  operator = await createFactories(one).createKey(null);
});
afterAll(() => opened.disposeAsync());

/** Health of every replica as reported by `instance`, which is ready in any case. */
async function replicaOf(instance: AppInstance): Promise<{ status: string; message?: string }> {
  const response = await instance.request("/health/ready");
  expect(response.status).toBe(200);
  const { dependencies } = response.body as { dependencies: Record<string, { status: string }> };
  return dependencies["replica_1"] ?? { status: "unknown" };
}

const isUp = (): Promise<void> =>
  eventually(async () => {
    for (const instance of [one, other]) expect(await replicaOf(instance)).toEqual({ status: "up" });
  });

/** Creates the partners and their job, and waits until the replica is healthy and has caught up. */
beforeEach(async () => {
  const { createOrganization, createJobs } = createFactories(one);
  [agent, contractor] = await Promise.all([createOrganization("agent"), createOrganization("contractor")]);
  [number = ""] = await createJobs(agent, [{ patch: { weight: 1 } }]);
  await standby.resume();
  await standby.catchUp();
  await isUp();
});

/** Number of reads of `instance`, by "server reason". */
async function readCounts(instance: AppInstance): Promise<Record<string, number>> {
  const text = (await instance.request("/metrics")).text;
  const found = text.matchAll(/^waymark_read_queries_total\{server="(\w+)",reason="(\w+)"\} (\d+)/gm);
  return Object.fromEntries(
    [...found].map(([, server, reason, count]) => [`${server} ${reason}`, Number(count)]),
  );
}

/** Runs `work` and returns how the counts changed. */
async function expectAnswered(
  instance: AppInstance,
  how: Record<string, number>,
  work: () => Promise<unknown>,
): Promise<void> {
  await eventually(async () => {
    const before = await readCounts(instance);
    await work();
    const added = Object.entries(await readCounts(instance)).map(
      ([key, count]) => [key, count - (before[key] ?? 0)] as const,
    );
    expect(Object.fromEntries(added.filter(([, count]) => count > 0))).toMatchObject(how);
  });
}

const byReplica = { "replica_1 current": 1 };
const connection = `{ jobs(first: 5) { totalCount nodes { markingNumber weight agent { name } } } }`;
const stats = `{ jobStats(groupBy: [STATUS]) { total groups { count weight } } }`;

/** The weights of a partner's jobs, read by REST and GraphQL. */
async function weights(instance: AppInstance, key: string): Promise<unknown[]> {
  const { jobs } = await queryData(instance, connection, { key });
  const byGraphql = jobs.nodes.map(({ weight }: { weight: number }) => weight);
  const { items } = expectData(await listJobs(instance, { key }));
  expect(items.map(({ weight }: { weight: number }) => weight)).toEqual(byGraphql);
  return byGraphql;
}

describe("a replica that has caught up", () => {
  it("serves lists and aggregates", async () => {
    for (const [partner, expected] of [
      [agent, [number]],
      [contractor, []],
    ] as const)
      await expectAnswered(one, byReplica, async () =>
        expect(markingNumbersOf(await listJobs(one, partner))).toEqual(expected),
      );
    await expectAnswered(one, byReplica, async () => {
      expect(await queryData(one, connection, { key: agent.key })).toEqual({
        jobs: { totalCount: 1, nodes: [{ markingNumber: number, weight: 1, agent: { name: agent.name } }] },
      });
    });
    await expectAnswered(one, byReplica, async () => {
      expect(await queryData(one, stats, { key: agent.key })).toEqual({
        jobStats: { total: 1, groups: [{ count: 1, weight: 1 }] },
      });
    });
  });

  it("serves nothing else", async () => {
    proxy.statements.length = 0;
    expectData(await getJob(one, agent, number));
    expectData(await one.call(`/v1/jobs/by-marking/${number}/history`, { key: agent.key }));
    expectData(await one.call("/v1/events", { key: agent.key }));
    expectData(await one.call("/v1/reference/statuses", { key: agent.key }));
    expectData(await patchJob(one, agent, number, { recipient_name: "A. Recipient" }));
    const single = `{ job(markingNumber: "${number}") { weight history(first: 1) { nodes { type } } } }`;
    await queryData(one, single, { key: agent.key });
    expect(proxy.statements.filter((statement) => !statement.includes("pg_last_wal_replay_lsn"))).toEqual([]);
  });
});

describe("a replica that lags", () => {
  it("hides no change from the organisation that made it, in any process", async () => {
    await standby.pause();
    expectData(await patchJob(one, agent, number, { weight: 2 }));
    expect(await weights(other, agent.key)).toEqual([2]);
    expect(await weights(one, agent.key)).toEqual([2]);
    const second = await createFactories(one).createKey(agent.id);
    expect(await weights(other, second)).toEqual([2]);
    expect(await queryData(other, stats, { key: agent.key })).toMatchObject({
      jobStats: { groups: [{ weight: 2 }] },
    });
  });

  it("hides no job from its new contractor", async () => {
    await standby.pause();
    const assign = `mutation ($items: [AssignJobInput!]!) { assignJobs(items: $items) { failedCount } }`;
    const items = [{ markingNumber: number, contractorId: toTypedId("org", contractor.id) }];
    await queryData(one, assign, { key: operator, variables: { items } });
    expect(await weights(other, contractor.key)).toHaveLength(1);
  });

  it("hides no change from operators", async () => {
    await standby.pause();
    const set = `mutation ($items: [SetProviderStatusInput!]!) { setProviderStatus(items: $items) { failedCount } }`;
    const items = [{ markingNumber: number, providerStatus: "on the way" }];
    await queryData(one, set, { key: operator, variables: { items } });
    const { jobs } = await queryData(other, `{ jobs(first: 5) { nodes { providerStatus } } }`, {
      key: operator,
    });
    expect(jobs.nodes).toContainEqual({ providerStatus: "on the way" });
  });

  it("serves organisations whose jobs have not changed meanwhile", async () => {
    const { createOrganization, createJobs } = createFactories(one);
    const still = await createOrganization("agent");
    await createJobs(still, [{}]);
    await expectAnswered(other, byReplica, async () => {
      await standby.resume();
      await standby.catchUp();
      await isUp();
      await standby.pause();
      await createJobs(agent, [{}]);
      expectData(await listJobs(other, still));
    });
  });

  it("is not used while it is too far behind, and reports that", async () => {
    await standby.pause();
    await createFactories(one).createJobs(agent, [{}]);
    await eventually(async () => {
      expect(await replicaOf(one)).toEqual({
        status: "down",
        message: "more than 2 s behind",
      });
    });
    await expectAnswered(one, { "primary no_replica": 1 }, async () =>
      expectData(await listJobs(one, agent)),
    );
    await standby.resume();
    await isUp();
    await expectAnswered(one, byReplica, async () => expectData(await listJobs(one, agent)));
  });
});

const lists = (): Promise<unknown> =>
  Promise.all(
    Array.from({ length: 8 }, async () => {
      expectData(await listJobs(one, agent));
      await queryData(one, connection, { key: agent.key });
    }),
  );
const isDown = (): Promise<void> =>
  eventually(async () => expect(await replicaOf(one)).toEqual({ status: "down", message: "unreachable" }));

describe("an unreachable replica", () => {
  it("causes no failed reads when its connections break, and is used again once it is back", async () => {
    proxy.disconnect();
    await lists();
    await isDown();
    await expectAnswered(one, { "primary no_replica": 16 }, lists);
    proxy.restore();
    await isUp();
    await expectAnswered(one, { "replica_1 current": expect.any(Number) }, lists);
  });

  it("causes no failed reads when it hangs, and is used again once it is back", async () => {
    await lists();
    proxy.stall();
    await lists();
    await isDown();
    proxy.restore();
    await isUp();
    await expectAnswered(one, { "replica_1 current": expect.any(Number) }, lists);
  });
});

/** Returns a new transaction ID, or that of the current transaction. */
const numberOf = async (queryable: Queryable): Promise<bigint> => {
  const [row] = await queryable.query<{ own: string }>(sql`select pg_current_xact_id()::text as own`);
  return BigInt(row?.own ?? 0);
};

it("a result of a standby treats as new only what no running transaction can add to", async () => {
  const { promise: isDone, resolve: finish } = Promise.withResolvers<void>();
  const { promise: begun, resolve: tell } = Promise.withResolvers<bigint>();
  const holding = postgres.primary.transaction(async (tx) => {
    await tx.query(sql`create table held ()`);
    tell(await numberOf(tx));
    await isDone;
  }, "rollback");
  const held = await begun;
  const later = await numberOf(postgres.primary);
  // Until then, a transaction of one of the processes can be older.
  await eventually(async () => {
    await standby.catchUp();
    const found = await reading.query<object>(withHorizon(sql`select 1`));
    expect(parseRows(found)?.horizon).toBe(held);
  });
  finish();
  await holding;
  expect(later).toBeGreaterThan(held);
});

/** Waits until a statement or WAL replay holds the table on the standby. */
async function waitForLock(table: string): Promise<void> {
  await eventually(async () => {
    const locks = await reading.query<object>(
      sql`select from pg_locks join pg_class on pg_class.oid = relation where relname = ${table}`,
    );
    expect(locks).not.toEqual([]);
  });
}

const newestChange = (): Promise<bigint> => Promise.resolve(0n);

describe("a statement that fails on a replica", () => {
  const registry = new Registry();
  let replicas: Replicas;
  beforeAll(async () => {
    const options = { urls: [standby.url], poolSize: 2, primary: postgres.primary, newestChange };
    replicas = opened.use(await openReplicas({ ...options, logger: createLogger("silent"), registry }));
  });
  beforeEach(() => registry.resetMetrics());
  const counted = async (): Promise<string[]> =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("waymark_read_queries_total{"));
  /** Waits until the replica answers. Nothing may be awaited between this and the statement: a busy process probes late. */
  const usable = (): Promise<void> => eventually(() => expect(replicas.all[0]?.problem).toBeNull());
  const connectReader = async (session?: Parameters<Replicas["connect"]>[0]): Promise<Queryable> =>
    (await replicas.connect(session))(postgres.primary, { organizationId: newUuid() });

  it("is retried on the primary if WAL replay cancelled it", async () => {
    await postgres.primary.query(sql`create table in_the_way (at int)`);
    await standby.catchUp();
    const reader = await connectReader();
    await usable();
    // Holds the table until the primary takes it away.
    const query = reader.query(
      sql`select count(*) as count, pg_is_in_recovery() as "isStandby",
        case when pg_is_in_recovery() then pg_sleep(20) end from in_the_way`,
    );
    await waitForLock("in_the_way");
    await postgres.primary.query(sql`truncate in_the_way`);
    expect(await query).toMatchObject([{ isStandby: false }]);
    expect(await counted()).toEqual(['waymark_read_queries_total{server="primary",reason="failed"} 1']);
  });

  it("is retried on the primary if it waits for a lock of WAL replay and the replica falls behind", async () => {
    await postgres.primary.query(sql`create table locked (at int)`);
    await standby.catchUp();
    const reader = await connectReader();
    const lock = sql`lock table locked in access exclusive mode`;
    const locking = await openTransaction(postgres.primary, lock);
    onTestFinished(() => locking.commit());
    // A commit sends the log with the lock to the standby. Without one, PostgreSQL may keep it for 15 s.
    await postgres.primary.query(sql`create table written_after_lock ()`);
    await waitForLock("locked");
    await usable();
    const query = reader.query(sql`select count(*), pg_is_in_recovery() as "isStandby" from locked`);
    await standby.pause();
    await locking.commit();
    await postgres.primary.query(sql`create table written_meanwhile ()`);
    expect(await query).toMatchObject([{ isStandby: false }]);
    expect(replicas.all[0]?.problem).toBe("more than 2 s behind");
  });

  it("is neither an error nor retried if the client disconnected", async () => {
    const before = await counted();
    const createReader = await replicas.connect();
    const query = vi.fn<() => Promise<never[]>>(() => Promise.resolve([]));
    const gone = AbortSignal.abort(new Error("gone"));
    const reader = createReader({ query }, { organizationId: newUuid() }, gone);
    await usable();
    await expect(reader.query(sql`select 1`)).rejects.toThrow("gone");
    expect(query).not.toHaveBeenCalled();
    expect(await counted()).toEqual(before);
  });

  it("is not retried on the primary if it timed out", async () => {
    const reader = await connectReader({ statement_timeout: "50" });
    await usable();
    const query = reader.query(sql`select case when pg_is_in_recovery() then pg_sleep(20) end`);
    await expect(query).rejects.toMatchObject({ code: "ServiceUnavailableException" });
  });
});

it("a replica whose primary is unreachable is not used until the primary is reachable again, and reports that", async () => {
  await using way = await startFaultProxy(postgres.url);
  await using primary = await openDatabase({ url: way.url, poolSize: 2, entities });
  const options = { urls: [standby.url], poolSize: 2, primary, newestChange };
  const settings = { ...options, logger: createLogger("silent"), registry: new Registry() };
  await using replicas = await openReplicas(settings);
  const [replica] = replicas.all;
  await eventually(() => expect(replica?.problem).toBeNull());
  way.disconnect();
  await eventually(() => expect(replica?.problem).toBe("primary unreachable"));
  way.restore();
  await eventually(() => expect(replica?.problem).toBeNull());
});

describe("a configured replica that is not one", () => {
  it("is not used, and reports that", async () => {
    await using instance = await startAppInstance(postgres.url, { DATABASE_REPLICA_URLS: postgres.url });
    expect(await replicaOf(instance)).toEqual({ status: "down", message: "not a standby" });
    expectData(await listJobs(instance, agent));
    // The list, and the names of its organisations, which are in memory from now on.
    expect(await readCounts(instance)).toEqual({ "primary no_replica": 2 });
    expectData(await listJobs(instance, agent));
    expect(await readCounts(instance)).toEqual({ "primary no_replica": 3 });
  });

  it("is not used after it was promoted", async () => {
    const promoted = await postgres.addStandby();
    await using instance = await startAppInstance(postgres.url, { DATABASE_REPLICA_URLS: promoted.url });
    await eventually(async () => expect(await replicaOf(instance)).toMatchObject({ status: "up" }));
    await promoted.promote();
    await eventually(async () =>
      expect(await replicaOf(instance)).toEqual({ status: "down", message: "not a standby" }),
    );
    expectData(await patchJob(instance, agent, number, { weight: 3 }));
    expect(await weights(instance, agent.key)).toContain(3);
  });
});
