/** The dispatcher: sending, retries, failure, circuit, limits and defects. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { INITIAL_WINDOW } from "../../../src/webhooks/dispatcher/endpoint-states.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import {
  useDispatcherFixture,
  type DeliveryRow,
  type RunningDispatcher,
} from "../../support/webhooks/dispatcher.fixture.ts";

const rig = useDispatcherFixture();
let dispatcher: RunningDispatcher;
beforeAll(async () => {
  dispatcher = await rig.startDispatcher();
});
interface EndpointRow {
  status: string;
  disabled_reason: string | null;
  circuit_step: number | null;
  is_failing: boolean;
  blocked_for_s: number | null;
}

async function endpointRow(id: string): Promise<EndpointRow> {
  const [row] = await rig.app.database.query<EndpointRow>(sql`
    select status, disabled_reason, circuit_step, failing_since is not null as is_failing,
      extract(epoch from blocked_until - clock_timestamp())::float8 as blocked_for_s
    from webhook_endpoint where id = ${id}`);
  return row as EndpointRow;
}

function attemptsOf(endpointId: string): Promise<Record<string, unknown>[]> {
  return rig.app.database.query(sql`
    select attempt.number, attempt.outcome, attempt.http_status, attempt.error, attempt.request_headers,
      attempt.response_body, attempt.duration_ms
    from webhook_attempt attempt join webhook_delivery delivery on delivery.id = delivery_id
    where endpoint_id = ${endpointId} order by attempt.id`);
}

/** Makes all pending deliveries due and wakes the dispatcher. */
async function again(): Promise<void> {
  await rig.makeDue();
  await rig.sweep(dispatcher);
}

/** Sweeps and reads the endpoint. One sweep is not enough: the claim of an earlier one may have seen the endpoint blocked. */
async function sweptRow(endpointId: string): Promise<EndpointRow> {
  await again();
  return await endpointRow(endpointId);
}

async function unblock(endpointId: string): Promise<void> {
  await rig.app.database.query(
    sql`update webhook_endpoint set blocked_until = clock_timestamp() - interval '1 s' where id = ${endpointId}`,
  );
}

/** Creates an organisation with one endpoint at its own receiver. */
async function withReceiver(
  options: { respond?: TestReceiver["respond"]; maxInFlight?: number; perSecond?: number },
  run: (receiver: TestReceiver, endpointId: string) => Promise<void>,
): Promise<void> {
  const secret = newSecret();
  await using receiver = await startTestReceiver({
    secret,
    ...(options.respond && { respond: options.respond }),
  });
  const endpointId = await rig.createEndpoint({ ...options, url: receiver.url, secret });
  try {
    await run(receiver, endpointId);
  } finally {
    await rig.deleteEndpoint(endpointId);
  }
}

async function makeEvents(count: number): Promise<void> {
  await rig.createJobs(count);
  dispatcher.wake();
}

const secondsSince = (beganMs: number): number => (performance.now() - beganMs) / 1_000;

/** Expects that at some time since `beganMs` the endpoint was blocked for this many seconds. */
async function expectBlockedFor(id: string, seconds: number, beganMs: number): Promise<void> {
  const { blocked_for_s: leftS } = await endpointRow(id);
  expect(leftS).toBeLessThanOrEqual(seconds);
  expect((leftS ?? 0) + secondsSince(beganMs)).toBeGreaterThanOrEqual(seconds);
}

it("a delivery is signed, has the same body as in the feed, and its attempt is recorded", () =>
  withReceiver({ respond: () => ({ status: 201, body: "thanks" }) }, async (receiver, endpointId) => {
    await makeEvents(1);
    const received = await receiver.next();
    expect(received).toMatchObject({ method: "POST", isSigned: true });
    await waitUntilFeedIsComplete(rig.app.database);
    const feed = await rig.app.call("/v1/events?limit=100", { key: rig.agent.key });
    expect(feed.body.data.items).toContainEqual(JSON.parse(received.body));
    expect(received.headers["webhook-id"]).toBe((JSON.parse(received.body) as { id: string }).id);
    const [row] = await rig.waitForStatus(endpointId, "delivered");
    expect(row).toMatchObject({ attempts: 1, outcome: "delivered" });
    expect(await attemptsOf(endpointId)).toMatchObject([
      { number: 1, outcome: "delivered", http_status: 201, error: null, response_body: "thanks" },
    ]);
  }));

describe("a failing delivery", () => {
  it("is retried on schedule with the same id and body, and failed after the last attempt", () =>
    withReceiver({ respond: () => ({ status: 500, body: "no" }) }, async (receiver, endpointId) => {
      let beganMs = performance.now();
      await makeEvents(1);
      await receiver.waitFor(1);
      for (const [at, delayS] of [5, 300, 1_800].entries()) {
        await expect
          .poll(() => rig.deliveries(endpointId))
          .toMatchObject([{ status: "pending", is_leased: false, attempts: at + 1 }]);
        const [row] = await rig.deliveries(endpointId);
        // ±20 %. The delay began at some time since `beganMs`.
        expect(row?.due_in_s).toBeLessThanOrEqual(delayS * 1.2);
        expect((row?.due_in_s ?? 0) + secondsSince(beganMs)).toBeGreaterThanOrEqual(delayS * 0.8);
        await expect.poll(() => dispatcher.wakeUps.at(-1)?.endpointId).toBe(endpointId);
        beganMs = performance.now();
        await again();
        await receiver.waitFor(at + 2);
      }
      await rig.waitForStatus(endpointId, "failed");
      expect(new Set(receiver.received.map(({ headers, body }) => headers["webhook-id"] + body)).size).toBe(
        1,
      );
      expect((await attemptsOf(endpointId)).map(({ number, outcome }) => [number, outcome])).toEqual([
        [1, "http_500"],
        [2, "http_500"],
        [3, "http_500"],
        [4, "http_500"],
      ]);
    }));

  it("marks its endpoint as failing until one succeeds", () =>
    withReceiver({ respond: () => ({ status: 500 }) }, async (receiver, endpointId) => {
      await makeEvents(1);
      // The endpoint changes before the attempt is recorded; until then the delivery cannot be made due.
      await expect.poll(() => rig.deliveries(endpointId)).toMatchObject([{ attempts: 1, is_leased: false }]);
      expect((await endpointRow(endpointId)).is_failing).toBe(true);
      receiver.respond = () => ({});
      await again();
      await rig.waitForStatus(endpointId, "delivered");
      await expect.poll(() => endpointRow(endpointId)).toMatchObject({ is_failing: false });
    }));

  it("with 410 disables the endpoint and puts its deliveries on hold", () =>
    withReceiver({ respond: () => ({ status: 410 }) }, async (receiver, endpointId) => {
      await makeEvents(1);
      await expect
        .poll(() => endpointRow(endpointId))
        .toMatchObject({ status: "disabled", disabled_reason: "gone" });
      await makeEvents(2);
      await again();
      await withReceiver({}, async (_other, healthy) => {
        await makeEvents(1);
        await rig.waitForStatus(healthy, "delivered");
      });
      expect(receiver.received).toHaveLength(1);
      const rows = await rig.deliveries(endpointId);
      expect(rows.map(({ status }) => status)).toEqual(["pending", "pending", "pending", "pending"]);
    }));

  it("with 429 and Retry-After pauses the whole endpoint for that time", () =>
    withReceiver(
      { maxInFlight: 1, respond: () => ({ status: 429, headers: { "retry-after": "120" } }) },
      async (receiver, endpointId) => {
        const beganMs = performance.now();
        await makeEvents(3);
        // The endpoint changes before the attempt is recorded; until then the delivery cannot be made due.
        await expect
          .poll(async () => (await rig.deliveries(endpointId)).filter((row) => row.outcome === "http_429"))
          .toHaveLength(1);
        await expectBlockedFor(endpointId, 120, beganMs);
        await again();
        receiver.respond = () => ({});
        await unblock(endpointId);
        await expect
          .poll(async () => {
            await again();
            return receiver.received.length;
          })
          .toBe(4);
        await rig.waitForStatus(endpointId, "delivered");
        // One rejected request, then one for each delivery.
        expect(receiver.received).toHaveLength(4);
      },
    ));
});

it("late responses of the old URL do not affect an endpoint with a new one", async () => {
  const replies: (() => void)[] = [];
  const respond: TestReceiver["respond"] = () =>
    new Promise((resolve) => replies.push(() => resolve({ status: 410 })));
  await withReceiver({ respond }, async (receiver, endpointId) => {
    await makeEvents(1);
    await receiver.waitFor(1);
    await using moved = await startTestReceiver();
    await rig.app.database.query(
      sql`update webhook_endpoint set url = ${moved.url}, version = version + 1 where id = ${endpointId}`,
    );
    for (const reply of replies) reply();
    await expect.poll(() => attemptsOf(endpointId)).toMatchObject([{ outcome: "http_410" }]);
    expect(await endpointRow(endpointId)).toMatchObject({ status: "active", is_failing: false });
    await again();
    await rig.waitForStatus(endpointId, "delivered");
    expect(moved.received).toHaveLength(1);
  });
});

describe("the circuit", () => {
  // evidence: webhook-circuit-breaker
  it("opens after 10 consecutive failures, uses up no attempts while open, and closes after a successful probe", () =>
    withReceiver({ maxInFlight: 1, respond: () => ({ status: 503 }) }, async (receiver, endpointId) => {
      await makeEvents(15);
      await expect.poll(() => endpointRow(endpointId)).toMatchObject({ circuit_step: 0 });
      await again();
      const untouched = (await rig.deliveries(endpointId)).filter(({ attempts }) => attempts === 0);
      expect(untouched).toHaveLength(5);
      expect(receiver.received).toHaveLength(10);

      // The first probe fails: one request and a longer delay.
      await unblock(endpointId);
      const beganMs = performance.now();
      await expect.poll(() => sweptRow(endpointId)).toMatchObject({ circuit_step: 1 });
      await expectBlockedFor(endpointId, 60, beganMs);
      expect(receiver.received).toHaveLength(11);

      receiver.respond = () => ({});
      await unblock(endpointId);
      await expect.poll(() => sweptRow(endpointId)).toMatchObject({ circuit_step: null });
      await again();
      await rig.waitForStatus(endpointId, "delivered");
    }));
});

describe("limits of an endpoint", () => {
  // A claim that an earlier test has woken would lease some of the deliveries, beside the limits of these dispatchers.
  beforeAll(() => dispatcher[Symbol.asyncDispose]());
  afterAll(async () => {
    dispatcher = await rig.startDispatcher();
  });

  it("its maximum number of deliveries in flight is reached and not exceeded", async () => {
    const replies: (() => void)[] = [];
    const respond: TestReceiver["respond"] = () => new Promise((resolve) => replies.push(() => resolve({})));
    await withReceiver({ maxInFlight: 3, respond }, async (receiver, endpointId) => {
      await using patient = await rig.startDispatcher({ totalMs: 60_000 });
      await rig.createJobs(30);
      patient.wake();
      await receiver.waitFor(INITIAL_WINDOW);
      // After each response, as many deliveries follow as there is room for.
      for (let answered = 1; answered <= 27; answered += 1) {
        replies.shift()?.();
        await receiver.waitFor(answered + 3);
        expect(patient.deliveries.size).toBe(3);
      }
      for (const reply of replies) reply();
      await rig.waitForStatus(endpointId, "delivered");
      expect(receiver.received).toHaveLength(30);
    });
  });

  it("its rate per second is reached and not exceeded", () =>
    withReceiver({ perSecond: 10 }, async (receiver, endpointId) => {
      const clock = createFakeClock();
      await using limited = await rig.startDispatcher({ clock });
      await rig.createJobs(25);
      // The bucket starts with ten tokens.
      for (const [elapsedMs, sent] of [
        [0, 10],
        [500, 15],
        [1_000, 25],
      ] as const) {
        clock.advance(elapsedMs);
        limited.wake();
        // A claim records deliveries and leases the next ones in one statement, so no more follow.
        await expect
          .poll(async () => {
            const rows = await rig.deliveries(endpointId);
            const count = (isCounted: (row: DeliveryRow) => boolean) => rows.filter(isCounted).length;
            return [count((row) => row.status === "delivered"), count((row) => row.is_leased)];
          })
          .toEqual([sent, 0]);
        expect(receiver.received).toHaveLength(sent);
      }
    }));
});

describe("problems on our side", () => {
  it("a delivery whose worker died at every attempt fails after the last one", () =>
    withReceiver({}, async (receiver, endpointId) => {
      await rig.createJobs(1);
      await rig.app.database.query(sql`
        update webhook_delivery set attempts = 4, lease_token = gen_random_uuid(), due_at = now() - interval '1 s'
        where endpoint_id = ${endpointId} and status = 'pending'`);
      await rig.sweep(dispatcher);
      expect(await rig.waitForStatus(endpointId, "failed")).toMatchObject([{ outcome: "interrupted" }]);
      expect(receiver.received).toHaveLength(0);
    }));

  it("a delivery is retried on schedule if the endpoint's secret cannot be decrypted", () =>
    withReceiver({}, async (_receiver, endpointId) => {
      await rig.app.database.query(sql`
        update webhook_endpoint set secrets = '[{"sealed": "s1.AAAA", "created_at": "2026-01-01T00:00:00Z", "expires_at": null}]'
        where id = ${endpointId}`);
      await makeEvents(1);
      await expect
        .poll(() => rig.deliveries(endpointId))
        .toMatchObject([{ status: "pending", outcome: "secret_unreadable", attempts: 1 }]);
    }));

  it("an attempt that PostgreSQL rejects does not block others", () =>
    withReceiver({}, async (_receiver, endpointId) => {
      await rig.createJobs(3);
      // Its week has no partition.
      await rig.app.database.query(sql`
        update webhook_delivery set id = '01000000-0000-7000-8000-000000000000'
        where id = (select min(id::text)::uuid from webhook_delivery where endpoint_id = ${endpointId} and status = 'pending')`);
      dispatcher.wake();
      await expect
        .poll(async () => (await rig.deliveries(endpointId)).map(({ status }) => status).toSorted())
        .toEqual(["delivered", "delivered", "pending"]);
      await rig.app.database.query(
        sql`delete from webhook_delivery where id = '01000000-0000-7000-8000-000000000000'`,
      );
    }));
});
