import { expect, it, vi } from "vitest";
import { newUuid, toTypedId } from "../../../src/core/ids.ts";
import { scheduleWakeUp, workerHandlers, type WebhookWork } from "../../../src/scheduling/worker-tasks.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture } from "../../support/scheduler.fixture.ts";

const fakeWork = () => ({
  enqueueDue: vi.fn<WebhookWork["enqueueDue"]>(),
  sweep: vi.fn<WebhookWork["sweep"]>(),
  disableFailing: vi.fn<WebhookWork["disableFailing"]>(),
  purgeExpired: vi.fn<WebhookWork["purgeExpired"]>(),
});

const noWork = {
  mails: { sweep: () => Promise.resolve(), purgeExpired: () => Promise.resolve() },
  notifications: { sweep: () => Promise.resolve(), remind: () => Promise.resolve() },
  requestLog: { purgeExpired: () => Promise.resolve() },
  applyDueSteps: () => Promise.resolve(),
};

it("wakes an endpoint by UUID or typed id on any process with handlers", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler();
  const work = fakeWork();
  addScheduler().scheduler.start(workerHandlers({ ...noWork, webhooks: work }));
  const ids = [newUuid(), toTypedId("whe", newUuid())];
  for (const id of ids) scheduleWakeUp(scheduler, id, Date.now());
  await eventually(async () => {
    expect(work.enqueueDue.mock.calls.flat().toSorted()).toEqual(ids.toSorted());
    expect(await tasks.countDocuments({ name: "webhooks.retry" })).toBe(0);
  });
});

it("rounds up to the second, so that one task serves all deliveries due in it", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler();
  const [one = "", other = ""] = [newUuid(), newUuid()].toSorted();
  const second = Math.ceil(Date.now() / 1000) + 1_000;
  for (const ms of [-999, -500, -1, 0]) scheduleWakeUp(scheduler, one, second * 1_000 + ms);
  scheduleWakeUp(scheduler, one, second * 1_000 + 0.5);
  scheduleWakeUp(scheduler, other, second * 1_000);
  await eventually(async () => expect(await tasks.countDocuments()).toBe(3));
  const all = await tasks.find().sort({ nextRunAt: 1, "data.endpointId": 1 }).toArray();
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

it("does not schedule a task for a second that has started", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler();
  const before = Date.now();
  scheduleWakeUp(scheduler, newUuid(), before - 60_000);
  await eventually(async () => expect(await tasks.countDocuments()).toBe(1));
  const { nextRunAt } = (await tasks.findOne())!;
  expect(nextRunAt.getTime()).toBeGreaterThanOrEqual(before);
});

// evidence: task-payload-ids-only
it("rejects payloads other than endpoint ids", () => {
  const { scheduler } = openSchedulerFixture().addScheduler();
  expect(() => scheduleWakeUp(scheduler, "https://example.com/hook", 0)).toThrow(/endpointId/);
  expect(() => scheduleWakeUp(scheduler, toTypedId("job", newUuid()), 0)).toThrow(/endpointId/);
});

it("runs sweep, disable and purge immediately at the start and then at their intervals", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const work = fakeWork();
  addScheduler().scheduler.start(workerHandlers({ ...noWork, webhooks: work }));
  await eventually(() => {
    expect(work.sweep).toHaveBeenCalled();
    expect(work.disableFailing.mock.calls.flat().toSorted()).toEqual(["live", "test"]);
    expect(work.purgeExpired).toHaveBeenCalled();
  });
  const all = await tasks
    .find({ name: /^webhooks/ })
    .sort({ name: 1 })
    .toArray();
  expect(all.map(({ name, repeatInterval }) => [name, repeatInterval])).toEqual([
    ["webhooks.disable", 300_000],
    ["webhooks.disable-test", 10_000],
    ["webhooks.retention", 3_600_000],
    ["webhooks.sweep", 5_000],
  ]);
});
