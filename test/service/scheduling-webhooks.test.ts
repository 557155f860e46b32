import { expect, it, vi } from "vitest";
import { newUuid, toTypedId } from "../../src/platform/ids.ts";
import { createWakeUps, webhookHandlers, type WebhookWork } from "../../src/scheduling/webhook-tasks.ts";
import { eventually, openScheduling } from "../support/scheduling.ts";

const fakeWork = () => ({
  fallDue: vi.fn<WebhookWork["fallDue"]>(),
  sweep: vi.fn<WebhookWork["sweep"]>(),
  disableFailing: vi.fn<WebhookWork["disableFailing"]>(),
  retire: vi.fn<WebhookWork["retire"]>(),
});

it("wakes an endpoint, by its uuid or its typed id, on whichever process handles it", async () => {
  const { jobs, add } = openScheduling();
  const { wakeAt } = createWakeUps(add().scheduler);
  const work = fakeWork();
  add().scheduler.start(webhookHandlers(work));
  const ids = [newUuid(), toTypedId("whe", newUuid())];
  for (const id of ids) wakeAt(id, Date.now());
  await eventually(async () => {
    expect(work.fallDue.mock.calls.flat().toSorted()).toEqual(ids.toSorted());
    expect(await jobs.countDocuments({ name: "webhooks.retry" })).toBe(0);
  });
});

it("rounds up to the second, so that one job serves all that falls due in it", async () => {
  const { jobs, add } = openScheduling();
  const { wakeAt } = createWakeUps(add().scheduler);
  const [one = "", other = ""] = [newUuid(), newUuid()].toSorted();
  const second = Math.ceil(Date.now() / 1000) + 1_000;
  for (const ms of [-999, -500, -1, 0]) wakeAt(one, second * 1_000 + ms);
  wakeAt(one, second * 1_000 + 0.5);
  wakeAt(other, second * 1_000);
  await eventually(async () => expect(await jobs.countDocuments()).toBe(3));
  const all = await jobs.find().sort({ nextRunAt: 1, "data.endpointId": 1 }).toArray();
  expect(all.map(({ name, data, nextRunAt }) => ({ name, data, nextRunAt }))).toEqual(
    [
      [one, second],
      [other, second],
      [one, second + 1],
    ].map(([endpointId, at]) => ({
      name: "webhooks.retry",
      data: { endpointId, second: at },
      nextRunAt: new Date((at as number) * 1_000),
    })),
  );
});

it("never wakes for a second that has begun, whose job may be running", async () => {
  const { jobs, add } = openScheduling();
  const { wakeAt } = createWakeUps(add().scheduler);
  const before = Date.now();
  wakeAt(newUuid(), before - 60_000);
  await eventually(async () => expect(await jobs.countDocuments()).toBe(1));
  const { nextRunAt } = (await jobs.findOne())!;
  expect(nextRunAt.getTime()).toBeGreaterThanOrEqual(before);
});

// evidence: task-payload-ids-only
it("takes ids and nothing else", () => {
  const { wakeAt } = createWakeUps(openScheduling().add().scheduler);
  expect(() => wakeAt("https://example.com/hook", 0)).toThrow(/no payload of webhooks\.retry/);
  expect(() => wakeAt(toTypedId("job", newUuid()), 0)).toThrow(/no payload of webhooks\.retry/);
});

it("sweeps, disables and removes at their intervals, each at once at the start", async () => {
  const { jobs, add } = openScheduling();
  const work = fakeWork();
  add().scheduler.start(webhookHandlers(work));
  await eventually(() => {
    expect(work.sweep).toHaveBeenCalled();
    expect(work.disableFailing).toHaveBeenCalled();
    expect(work.retire).toHaveBeenCalled();
  });
  const all = await jobs.find().sort({ name: 1 }).toArray();
  expect(all.map(({ name, repeatInterval }) => [name, repeatInterval])).toEqual([
    ["webhooks.disable", 300_000],
    ["webhooks.retention", 3_600_000],
    ["webhooks.sweep", 5_000],
  ]);
});
