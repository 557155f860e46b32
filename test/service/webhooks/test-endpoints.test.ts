/** Endpoints of test organisations: the compressed schedule beside live endpoints, from the first failure to the replay. */
import { beforeAll, expect, it } from "vitest";
import { eventTypes } from "../../../src/events/api.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { SECOND_MS } from "../../../src/core/time.ts";
import { disableFailing } from "../../../src/webhooks/endpoints/disable-failing-endpoints.sql.ts";
import { disableRules } from "../../../src/webhooks/retry-policy.ts";
import { useDispatcherFixture, type RunningDispatcher } from "../../support/webhooks/dispatcher.fixture.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const rig = useDispatcherFixture();
let dispatcher: RunningDispatcher;
/** The fixture's agent in test mode. */
let partner: TestOrganization;

beforeAll(async () => {
  dispatcher = await rig.startDispatcher();
  partner = await rig.createTestOrganization();
});
const post = async (path: string, body?: object): Promise<Record<string, unknown>> => {
  const response = await rig.app.call(path, {
    key: partner.key,
    method: "POST",
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBeLessThan(300);
  return response.body.data as Record<string, unknown>;
};

/** Makes all pending deliveries due, ends pauses and wakes the dispatcher. */
async function attemptAgain(endpointId: string): Promise<void> {
  await rig.app.database.query(
    sql`update webhook_endpoint set blocked_until = clock_timestamp() where id = ${endpointId} and blocked_until is not null`,
  );
  await rig.makeDue();
  await rig.sweep(dispatcher);
}

const endpointView = async (id: string): Promise<Record<string, unknown>> =>
  (await rig.app.call(`/v1/webhook-endpoints/${id}`, { key: partner.key })).body.data;

it("a live and a test endpoint of one worker follow their own schedules", async () => {
  await using receiver = await startTestReceiver({ respond: () => ({ status: 500 }) });
  const [live, test] = [
    await rig.createEndpoint({ url: receiver.url }),
    await rig.createEndpoint({ url: receiver.url }, partner),
  ];
  await rig.app.createJobs(rig.agent, [{}]);
  await post("/v1/test/jobs");
  dispatcher.wake();
  const rows = await eventually(async () => {
    const all = [...(await rig.deliveries(live)), ...(await rig.deliveries(test))];
    expect(all.map(({ attempts, is_leased: isLeased }) => [attempts, isLeased])).toEqual([
      [1, false],
      [1, false],
      [1, false],
    ]);
    return all;
  });
  // The fixture's live delay is 5 s, the test delay 1 s, both ±20 %.
  const [liveDelay] = await rig.app.database.query<{ s: number }>(sql`
    select extract(epoch from due_at - started_at)::float8 as s
    from webhook_delivery delivery join webhook_attempt attempt on attempt.delivery_id = delivery.id
    where endpoint_id = ${live}`);
  expect(liveDelay?.s).toBeGreaterThanOrEqual(4);
  for (const { due_in_s: dueInS } of rows.slice(1)) expect(dueInS).toBeLessThanOrEqual(1.2);
  // Two of the three attempts were to the test endpoint. The metrics raise alerts, so they have only the live one.
  expect(await dispatcher.counted()).toEqual([1, 1]);
  for (const id of [live, test]) await rig.deleteEndpoint(id);
});

it("one test key sees every event type and every state: pending, failed, disabled, discarded, delivered", async () => {
  await using receiver = await startTestReceiver({ respond: () => ({ status: 500 }) });
  const endpointId = await rig.createEndpoint({ url: receiver.url }, partner);
  const id = toTypedId("whe", endpointId);
  for (const type of eventTypes) await post(`/v1/test/events/${type}`);
  const pending = await rig.deliveries(endpointId);
  expect(pending.map(({ status }) => status)).toEqual(eventTypes.map(() => "pending"));
  dispatcher.wake();

  for (;;) {
    const rows = await rig.deliveries(endpointId);
    if (rows.every(({ status }) => status === "failed")) break;
    expect(rows.map(({ status }) => status)).not.toContain("delivered");
    const retries = rows.filter((row) => !row.is_leased);
    for (const { due_in_s: dueInS } of retries) expect(dueInS).toBeLessThanOrEqual(8 * 1.2);
    await attemptAgain(endpointId);
  }
  const failed = await rig.deliveries(endpointId);
  expect(failed.map(({ attempts }) => attempts)).toEqual(eventTypes.map(() => 10));
  const types = receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  expect(new Set(types)).toEqual(new Set(eventTypes));
  expect(await endpointView(id)).toMatchObject({ status: "active", is_circuit_open: false });

  await passTime(endpointId);
  const { database } = rig.app;
  expect(await disableFailing(database, "live", undefined)).toEqual([]);
  expect(await disableFailing(database, "test", undefined)).toMatchObject([{ id }]);
  expect(await endpointView(id)).toMatchObject({ status: "disabled", disabled_reason: "failing" });

  await post("/v1/test/jobs");
  dispatcher.wake();
  const states = async () => (await rig.deliveries(endpointId)).map(({ status }) => status);
  const failures = eventTypes.map(() => "failed");
  // On hold.
  expect(await states()).toEqual([...failures, "pending", "pending"]);

  receiver.respond = () => ({});
  await post(`/v1/webhook-endpoints/${id}/resume`, { pending: "discard" });
  expect(await endpointView(id)).toMatchObject({
    status: "active",
    failing_since: null,
    blocked_until: null,
  });
  const [first] = failed;
  await post(`/v1/webhook-deliveries/${toTypedId("dlv", first?.id ?? "")}/replay`);
  dispatcher.wake();
  await eventually(async () =>
    expect(await states()).toEqual([...failures, "discarded", "discarded", "delivered"]),
  );
});

/** Moves the endpoint's failures back in time, each attempt of a delivery to the time of the test schedule. */
async function passTime(endpointId: string): Promise<void> {
  const { afterMs } = disableRules.test;
  await rig.app.database.query(sql`
    update webhook_endpoint set failing_since = clock_timestamp() - ${afterMs + SECOND_MS} * interval '1 ms'
    where id = ${endpointId}`);
  await rig.app.database.query(sql`
    update webhook_attempt set started_at = clock_timestamp() - ${afterMs} * interval '1 ms' + number * interval '3 s'
    where delivery_id in (select id from webhook_delivery where endpoint_id = ${endpointId})`);
}
