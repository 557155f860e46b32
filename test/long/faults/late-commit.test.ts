/** A transaction that commits after later ones, and one that is rolled back, while an API and a worker run. */
import { expect, it, onTestFinished, vi } from "vitest";
import { updateRows } from "../../../src/jobs/update/update-and-fan-out.sql.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { eventually } from "../../support/faults/change-load.ts";
import { countEvents, openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

const changed = (markingNumber: string) => [{ markingNumber, patch: { weight: 7 } }];

it("a change that commits after later ones is delivered, and a rolled back one is not", async () => {
  const fixture = await openFaultFixture();
  await fixture.addEndpoint();
  await fixture.addEndpoint({ eventTypes: ["job.updated"] });
  await fixture.addEndpoint({ owner: fixture.contractor });
  await fixture.startServer("all");
  const [slow = "", undone = "", quick = ""] = await fixture.addJobs(3, "assigned");
  const context = { actor: systemActor, requestId: null };
  const { promise: gate, resolve: commit } = Promise.withResolvers<void>();
  onTestFinished(() => commit());
  const written = Promise.withResolvers<void>();
  const late = fixture.database.transaction(async (tx) => {
    await updateRows(tx, fixture.agent, changed(slow), context);
    written.resolve();
    await gate;
  });
  await written.promise;
  await fixture.database.transaction(
    (tx) => updateRows(tx, fixture.agent, changed(undone), context),
    "rollback",
  );
  for (let weight = 1; weight <= 5; weight += 1) await fixture.updateJob(quick, weight);
  const bodies = (): string[] => fixture.receiver.received.map(({ body }) => body);
  // There are 7 events: one agent endpoint gets all, the other the 5 updates, the contractor's all but the first.
  await eventually(() => expect(bodies().filter((body) => body.includes(quick))).toHaveLength(7 + 5 + 6));
  expect(await verifyDeliveries(fixture, { duplicates: 0 })).toMatchObject({ events: 11 });
  commit();
  await late;
  fixture.notifyWorkers();
  await eventually(async () => expect(await countEvents(fixture)).toBe(12));
  expect(await verifyDeliveries(fixture, { duplicates: 0 })).toMatchObject({ events: 12 });
});
