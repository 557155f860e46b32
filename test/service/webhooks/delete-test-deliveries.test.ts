/** The deletion of test deliveries during claims, results and replays leaves no delivery and no attempt. */
import { beforeEach, describe, expect, it } from "vitest";
import { fromTypedId, newUuid } from "../../../src/core/ids.ts";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { deleteTestDeliveries } from "../../../src/webhooks/deliveries/delete-test-deliveries.sql.ts";
import { replayByIds, replayFailed, replayMissing } from "../../../src/webhooks/deliveries/replay.sql.ts";
import {
  claimDue,
  recordFinished,
} from "../../../src/webhooks/dispatcher/claim-due-and-record-attempts.sql.ts";
import type { FinishedDelivery, Lease } from "../../../src/webhooks/dispatcher/lease.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { HOUR_MS } from "../../support/fake-clock.ts";
import { createAgentWithEndpoint, finishPendingDeliveries } from "../../support/webhooks/delivery.fixture.ts";
import { claimRequest } from "../../support/webhooks/dispatcher.fixture.ts";
import { useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();
let partner: Awaited<ReturnType<typeof createAgentWithEndpoint>>;

beforeEach(async () => {
  // No endpoint of an earlier test has a delivery that a claim could return.
  await services.database.query(sql`delete from webhook_delivery`);
  await services.database.query(sql`delete from webhook_attempt`);
  partner = await createAgentWithEndpoint(services);
});
/** A reset deletes the events before the deliveries. */
const deleteEvents = (on: Queryable = services.database) =>
  on.query(sql`delete from job_event where agent_id = ${partner.agent.organizationId}`);
const deleteDeliveries = () => deleteTestDeliveries(services.database, [partner.agent.organizationId]);

/** Deletes the deliveries while a transaction that has done `work` is in progress. Returns their number. */
async function deleteDuring(work: (tx: Transaction) => Promise<unknown>): Promise<number | undefined> {
  let deleting: Promise<number> | undefined;
  await services.database.transaction(async (tx) => {
    await work(tx);
    deleting = deleteDeliveries();
    await waitForBlockedSessions(services.database, 1);
  });
  return await deleting;
}

async function expectNoRows(): Promise<void> {
  expect(await services.listDeliveries()).toEqual([]);
  expect(await services.database.query(sql`select from webhook_attempt`)).toEqual([]);
}

const claim = (finished: FinishedDelivery[] = [], on: Queryable = services.database) =>
  claimDue(on, claimRequest({ finished }));

async function lease(): Promise<Lease> {
  const { leases } = await claim();
  expect(leases).toHaveLength(1);
  return leases[0] as Lease;
}

function resultOf({ id, token, attempt }: Lease, status: FinishedDelivery["status"]): FinishedDelivery {
  const outcome =
    status === "delivered"
      ? ({ class: "delivered", status: 200, message: null, retryAfter: null } as const)
      : ({ class: "http_500", status: 500, message: "failed", retryAfter: null } as const);
  const request = { requestHeaders: {}, responseHeaders: {}, responseBody: "" };
  const timing = { startedAtMs: Date.now(), durationMs: 5 };
  return {
    id,
    token,
    status,
    delayMs: 60_000,
    outcome: outcome.class,
    attempt: { id: newUuid(), deliveryId: id, number: attempt, outcome, ...timing, ...request },
  };
}

it("deletes each state, and keeps deliveries of events that exist and of other organisations", async () => {
  const other = await createAgentWithEndpoint(services);
  await services.createJob(other.agent);
  await services.createJobs(partner.agent, 1_400);
  await finishPendingDeliveries(services, partner.uuid, "failed", { count: 1_100 });
  await services.database.query(sql`
    update webhook_delivery set attempts = 1 where status = 'pending' and id in (
      select id from webhook_delivery where status = 'pending' and endpoint_id = ${partner.uuid} limit 200)`);
  await services.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
    select gen_random_uuid(), id, 1, now(), 1, 'http_500', '{}' from webhook_delivery where attempts = 1`);
  await deleteEvents();
  await services.createJob(partner.agent);
  expect(await deleteDeliveries()).toBe(1_400);
  expect([await partner.list(), await other.list()]).toEqual([
    [expect.objectContaining({ status: "pending" })],
    [expect.objectContaining({ status: "pending" })],
  ]);
  expect(await services.database.query(sql`select from webhook_attempt`)).toEqual([]);
});

it.each([
  ["a delivery that finishes", "delivered"],
  ["an attempt that is recorded", "pending"],
] as const)("deletes %s while it waits for the row", async (_what, status) => {
  await services.createJob(partner.agent);
  await deleteEvents();
  const result = resultOf(await lease(), status);
  expect(await deleteDuring((tx) => recordFinished(tx, [result]))).toBe(1);
  await expectNoRows();
});

const touch = (id: string | undefined) =>
  sql`update webhook_delivery set outcome = 'timeout' where status = 'pending' and id = ${id} returning id`;

it("holds no row while it waits for another, so that it cannot deadlock with a worker", async () => {
  await services.createJobs(partner.agent, 3);
  await deleteEvents();
  const [first, second, third] = await services.listDeliveries();
  let deleting: Promise<number> | undefined;
  await services.database.transaction(async (tx) => {
    await tx.query(touch(second?.id));
    deleting = deleteDeliveries();
    await waitForBlockedSessions(services.database, 1);
    // Rows before and after the one that it waits for.
    expect(await tx.query(touch(first?.id))).toEqual([]);
    expect(await tx.query(touch(third?.id))).toEqual([]);
  });
  expect(await deleting).toBe(3);
  await expectNoRows();
});

describe("a result that arrives after the deletion", () => {
  it.each([
    ["with a claim", (result: FinishedDelivery) => claim([result])],
    ["without a claim", (result: FinishedDelivery) => recordFinished(services.database, [result])],
  ])("leaves no attempt: %s", async (_name, record) => {
    await services.createJob(partner.agent);
    await deleteEvents();
    const result = resultOf(await lease(), "delivered");
    expect(await deleteDeliveries()).toBe(1);
    await record(result);
    await expectNoRows();
  });

  it("leaves no attempt if it waits for the deletion", async () => {
    await services.createJob(partner.agent);
    await deleteEvents();
    const leased = await lease();
    const deletion = await openTransaction(
      services.database,
      sql`delete from webhook_delivery where id = ${leased.id}`,
    );
    const recording = claim([resultOf(leased, "delivered")]);
    await waitForBlockedSessions(services.database, 1);
    await deletion.commit();
    await recording;
    await expectNoRows();
  });

  it("keeps the attempt of an expired lease, whose delivery another worker sends", async () => {
    await services.createJob(partner.agent);
    const leased = await lease();
    await services.database.query(sql`update webhook_delivery set lease_token = ${newUuid()}`);
    await recordFinished(services.database, [resultOf(leased, "delivered")]);
    expect(await services.database.query(sql`select from webhook_attempt`)).toHaveLength(1);
  });
});

const replayDeps = () => ({
  database: services.database,
  notifyWorkers: () => undefined,
  reserve: () => true,
});

describe("a replay in progress", () => {
  const since = new Date(Date.now() - HOUR_MS);

  it.each([
    ["one delivery", async () => (await partner.list())[0]?.id ?? ""],
    ["failed deliveries", async () => null],
  ])("leaves no delivery: %s", async (_name, find) => {
    await services.createJob(partner.agent);
    await finishPendingDeliveries(services, partner.uuid, "failed");
    const id = await find();
    await deleteEvents();
    const deleted = await deleteDuring(async (tx) => {
      if (id === null) await replayFailed({ ...replayDeps(), tx }, { endpointId: partner.uuid, since });
      else await replayByIds({ ...replayDeps(), tx }, [fromTypedId("dlv", id) as string]);
    });
    expect(deleted).toBe(2);
    await expectNoRows();
  });

  it("leaves no delivery: events without a delivery", async () => {
    await services.createJob(partner.agent);
    await services.database.query(sql`delete from webhook_delivery`);
    const deleted = await deleteDuring(async (tx) => {
      const { organizationId, organizationType } = partner.agent;
      const request = { endpointId: partner.uuid, since, organizationId, organizationType, eventTypes: null };
      expect(await replayMissing({ ...replayDeps(), tx }, request)).toMatchObject({ replayed: 1 });
      await deleteEvents();
    });
    expect(deleted).toBe(1);
    await expectNoRows();
  });
});
