/** The claim divides the slots between partners, and reads only what it leases, with a plan made while the queue was empty. */
import { afterEach, expect, it } from "vitest";
import { newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import { WORKER_SESSION } from "../../../src/app/worker.ts";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import {
  claimDue,
  type ClaimRequest,
} from "../../../src/webhooks/dispatcher/claim-due-and-record-attempts.sql.ts";
import type { FinishedDelivery, Lease } from "../../../src/webhooks/dispatcher/lease.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { claimRequest, useDispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";

const rig = useDispatcherFixture();
const createEndpoints = async (count: number, owner: TestOrganization): Promise<string[]> => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push(await rig.createEndpoint({ url: "http://127.0.0.1:9/" }, owner));
  return ids;
};

/** The lane of a delivery, and what makes it due. */
const lanes = {
  first: sql`0, now(), null`,
  retry: sql`1, now(), null`,
  reclaimed: sql`1, now(), gen_random_uuid()`,
};

/** Inserts `count` due deliveries to each of these endpoints. */
const insertDue = (endpointIds: readonly string[], count: number, lane: keyof typeof lanes = "first") =>
  rig.app.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, due_at, lease_token)
    select ${uuidV7Sql}, endpoint_id, gen_random_uuid(), 'job.updated', ${lanes[lane]}
    from unnest(${[...endpointIds]}::uuid[]) endpoint_id, generate_series(1, ${count}::int)`);

afterEach(async () => {
  await rig.app.database.query(sql`truncate webhook_delivery_pending`);
});

function countBy(leases: readonly Lease[], keyOf: (lease: Lease) => string): Record<string, number> {
  const groups = Object.groupBy(leases, keyOf);
  return Object.fromEntries(Object.entries(groups).map(([key, group = []]) => [key, group.length]));
}

// evidence: webhook-slots-per-partner
it("leases no more for a partner than its share, live and test together, and live deliveries first", async () => {
  const test = await rig.createTestOrganization();
  const live = await createEndpoints(3, rig.agent);
  const ofTest = await createEndpoints(2, test);
  const other = await createEndpoints(1, rig.contractor);
  await insertDue([...live, ...ofTest, ...other], 40);
  const sendBudgets = new Map([...live, ...ofTest, ...other].map((id) => [id, 40]));
  const whose = ({ endpointId }: Lease): string =>
    live.includes(endpointId) ? "live" : ofTest.includes(endpointId) ? "test" : "other";
  const claim = async (partner: number, all = 480) => {
    const partnerBudgets = new Map([[rig.agent.id, partner]]);
    const limits = { sendBudgets, partnerBudgets, freeSlots: all, maxFirstAttempts: all };
    const { leases } = await claimDue(rig.app.database, claimRequest(limits));
    await rig.app.database.query(sql`
      update webhook_delivery set attempts = 0, lease_token = null where attempts = 1`);
    return countBy(leases, whose);
  };
  expect(await claim(50)).toEqual({ live: 50, other: 40 });
  expect(await claim(150)).toEqual({ live: 120, test: 30, other: 40 });
  expect(await claim(0)).toEqual({ other: 40 });
  // Few slots are left: test deliveries of all partners come last.
  expect(await claim(480, 170)).toEqual({ live: 120, other: 40, test: 10 });
});

it("divides a partner's share between all of its endpoints over time", async () => {
  const owner = await rig.app.createOrganization("agent");
  const endpoints = await createEndpoints(8, owner);
  await insertDue(endpoints, 100, "retry");
  const sendBudgets = new Map(endpoints.map((id) => [id, 64]));
  const served = new Set<string>();
  // Each turn serves one of the eight at random: 60 turns would miss one in 3 of 1,000 runs, 200 in none of 10^10.
  for (let turn = 0; turn < 200 && served.size < endpoints.length; turn += 1) {
    const { leases } = await claimDue(
      rig.app.database,
      claimRequest({ sendBudgets, retryEndpoints: endpoints, maxPerPartner: 64 }),
    );
    expect(leases).toHaveLength(64);
    for (const { endpointId } of leases) served.add(endpointId);
    await rig.app.database.query(sql`
      update webhook_delivery set attempts = 1, due_at = now(), lease_token = null where attempts > 1`);
  }
  expect(served).toEqual(new Set(endpoints));
});

/** The rows of the queue that sessions of this database have read so far. The session's own counts are written first. */
async function rowsRead(session: Queryable): Promise<number> {
  await session.query(sql`select pg_stat_force_next_flush()`);
  const [row] = await session.query<{ rows: number }>(sql`
    select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as rows
    from pg_stat_user_tables where relname = 'webhook_delivery_pending'`);
  return row?.rows ?? 0;
}

const finish = ({ id, token }: Lease): FinishedDelivery => ({
  id,
  token,
  status: "delivered",
  delayMs: 0,
  outcome: "delivered",
  attempt: null,
});

// evidence: webhook-claim-plan
it.each([
  ["while the queue was empty", true],
  ["of a full queue with the statistics of an empty one, as after a restart", false],
])(
  "reads only what it leases and records of 100,000 due deliveries, planned %s",
  async (_when, isPrepared) => {
    const owner = await rig.app.createOrganization("agent");
    const endpoints = await createEndpoints(20, owner);
    await using worker = await rig.app.database.openPool({ poolSize: 1, session: WORKER_SESSION });
    const sendBudgets = new Map(endpoints.map((id) => [id, 24]));
    const claim = (finished: readonly FinishedDelivery[], changes: Partial<ClaimRequest> = {}) =>
      claimDue(worker, claimRequest({ finished, sendBudgets, retryEndpoints: endpoints, ...changes }));
    const nothing = finish({ id: newUuid(), token: newUuid() } as Lease);
    await rig.app.database.query(sql`vacuum analyze webhook_delivery`);
    // A statement is planned once, when it is prepared.
    for (let count = 0; isPrepared && count < 10; count += 1) {
      await claim([]);
      await claim([nothing]);
      await claim([nothing], { freeSlots: 0 });
    }
    await insertDue(endpoints, 2_000, "first");
    await insertDue(endpoints, 2_000, "retry");
    await insertDue(endpoints, 1_000, "reclaimed");
    let leased: readonly Lease[] = [];
    for (const changes of [{}, { maxFirstAttempts: 0 }, {}, { freeSlots: 0 }]) {
      const before = await rowsRead(worker);
      const { leases } = await claim(leased.map(finish), changes);
      const read = (await rowsRead(worker)) - before;
      expect(leases).toHaveLength(changes.freeSlots === 0 ? 0 : 480);
      // Each delivery is found, locked, updated and returned.
      expect(read).toBeLessThan((leases.length + leased.length) * 10);
      leased = leases;
    }
  },
);
