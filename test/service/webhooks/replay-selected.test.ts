/** The replay of selected deliveries: a result for each, and the limits of replays. */
import { expect, it } from "vitest";
import { fromTypedId, newUuid, toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { AccessChange } from "../../../src/mail/api.ts";
import type { DeliveryView } from "../../../src/webhooks/deliveries/view.ts";
import { replaySelected } from "../../../src/webhooks/deliveries/replay-selected.ts";
import { createAgentWithEndpoint, createAgentWithFailed } from "../../support/webhooks/delivery.fixture.ts";
import { useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices({ replayRate: { perSecond: 1, burst: 5 } });

const codesOf = (results: Awaited<ReturnType<typeof services.deliveries.replaySelected>>) =>
  results.map(({ delivery, error }) => delivery?.origin ?? error?.code);

const replayOf = ({ id, eventId, jobId, eventType }: DeliveryView) => ({
  id,
  delivery: { eventId, jobId, eventType, origin: "replay", status: "pending", attemptCount: 0 },
  error: null,
});

it("replays each selected delivery once, in the order of the ids", async () => {
  const { agent, ids, list } = await createAgentWithFailed(services, 3);
  const before = await list();
  const selected = [ids[2], ids[0], ids[2]] as string[];
  const announced = services.workerNotifications.count;
  const results = await services.deliveries.replaySelected(agent, selected);
  expect(results).toMatchObject([replayOf(before[2]!), replayOf(before[0]!)]);
  expect(services.workerNotifications.count).toBe(announced + 1);
  // The originals are kept.
  const all = [...results.map(({ delivery }) => delivery), ...before];
  expect(new Set(await list())).toEqual(new Set(all));
});

it("discards those that are pending, and has an error for each that can't be replayed", async () => {
  const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
  await services.createJobs(agent, 2);
  const [inFlight, pending] = await list();
  await services.database.query(sql`
    update webhook_delivery set lease_token = ${newUuid()}, due_at = now() + interval '30 s'
    where id = ${fromTypedId("dlv", inFlight?.id ?? "")}`);
  const test = await services.deliveries.ping(agent, id);
  const foreign = await createAgentWithFailed(services, 1);
  const ids = [pending?.id, inFlight?.id, test.id, foreign.ids[0], toTypedId("dlv", newUuid()), "none"];
  const results = await services.deliveries.replaySelected(agent, ids as string[]);
  expect(codesOf(results)).toEqual([
    "replay",
    "ConflictException",
    "ConflictException",
    "NotFoundException",
    "NotFoundException",
    "NotFoundException",
  ]);
  expect(results[1]?.error?.message).toContain("in flight");
  expect(results[3]?.error?.message).toBe(results[4]?.error?.message);
  expect(await list({ status: "discarded" })).toMatchObject([
    { id: pending?.id, finishedAt: expect.any(String) },
  ]);
  expect(await foreign.list()).toHaveLength(1);
  await services.endpoints.delete(agent, id);
  const ofDeleted = await services.deliveries.replaySelected(agent, [test.id, pending?.id ?? ""]);
  expect(codesOf(ofDeleted)).toEqual(["ConflictException", "ConflictException"]);
  expect(ofDeleted[1]?.error?.message).toContain("deleted");
  expect((await services.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`)).length).toBe(1);
});

it("counts towards the replays of the partner, and replays none beyond them", async () => {
  const { agent, ids, list } = await createAgentWithFailed(services, 4);
  await services.deliveries.replaySelected(agent, ids);
  await expect(services.deliveries.replaySelected(agent, ids.slice(0, 2))).rejects.toMatchObject({
    code: "TooManyRequestsException",
  });
  expect(await list()).toHaveLength(8);
});

it("records one audit entry for each endpoint", async () => {
  const { agent, ids, id } = await createAgentWithFailed(services, 2);
  const { endpoint: second } = await services.endpoints.create(agent, { url: "http://127.0.0.1:9/webhooks" });
  await services.createJob(agent);
  const [ofSecond] = (await services.deliveries.list(agent, { filter: { endpointId: second.id }, limit: 1 }))
    .items;
  const entries: Pick<AccessChange, "action" | "subject" | "details">[] = [];
  const deps = {
    database: services.database,
    notifyWorkers: () => undefined,
    recordAccessChange: async (_on: unknown, { action, subject, details }: AccessChange) =>
      void entries.push({ action, subject, details }),
  };
  await replaySelected(deps, agent, [...ids, ofSecond?.id ?? ""]);
  expect(entries.toSorted((a, b) => Number(b.subject === id) - Number(a.subject === id))).toMatchObject([
    { action: "endpoint.replayed", subject: id, details: { deliveries: expect.arrayContaining(ids) } },
    { action: "endpoint.replayed", subject: second.id, details: { delivery: ofSecond?.id } },
  ]);
});
