/** Rotating secrets under load. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { toTypedId } from "../../../../src/core/ids.ts";
import { sql } from "../../../../src/core/postgres/sql.ts";
import { verifyDeliveries, isSigned } from "../../../support/faults/delivery-checks.ts";
import { startChangeLoad } from "../../../support/faults/change-load.ts";
import { eventually } from "../../../support/eventually.ts";
import { openFaultFixture, type FaultFixture } from "../../../support/faults/webhook.fixture.ts";
import type { ReceivedRequest } from "../../../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 150_000 });

const delayedResponse = async (): Promise<object> => await pause(30, {});

const loadOn = (fixture: FaultFixture, numbers: readonly string[]) =>
  startChangeLoad(numbers, (number, weight) => fixture.updateJob(number, weight));

it("webhooks verify with the previous and the new secret while secrets are rotated", async () => {
  const fixture = await openFaultFixture();
  const endpoint = await fixture.addEndpoint({ respond: delayedResponse });
  const numbers = await fixture.addJobs(6);
  await fixture.startServer("worker");
  const load = loadOn(fixture, numbers);
  const [original = ""] = endpoint.secrets;
  const rotations: { secret: string; earlier: Set<string> }[] = [];
  for (let rotation = 0; rotation < 2; rotation += 1) {
    await load.waitForMore(15);
    const before = endpoint.received().length;
    await eventually(() => expect(endpoint.received().length).toBeGreaterThan(before));
    const { secret } = await fixture.endpointService.rotateSecret(fixture.agent, endpoint.typedId);
    rotations.push({ secret, earlier: await webhookIdsOf(fixture) });
  }
  await load.waitForMore(15);
  await load.stop();
  endpoint.secrets.push(...rotations.map(({ secret }) => secret));
  await verifyDeliveries(fixture, { duplicates: 0 });

  // Two previous secrets also sign, so the first one is still valid.
  const received = endpoint.received();
  expect(received.filter((request) => !isSigned(request, [original]))).toEqual([]);
  for (const { secret, earlier } of rotations) {
    const later = received.filter(({ headers }) => !earlier.has(String(headers["webhook-id"])));
    expect(later.length).toBeGreaterThan(10);
    expect(later.filter((request) => !isSigned(request, [secret]))).toEqual([]);
  }
  expect(signatureCounts(received)).toEqual([1, 2, 3]);

  // A third rotation drops the first secret.
  const { secret } = await fixture.endpointService.rotateSecret(fixture.agent, endpoint.typedId);
  await fixture.updateJob(numbers[0] ?? "", 1_000_000);
  await eventually(() =>
    expect(isSigned(endpoint.received().at(-1) as ReceivedRequest, [secret])).toBe(true),
  );
  expect(isSigned(endpoint.received().at(-1) as ReceivedRequest, [original])).toBe(false);
});

async function webhookIdsOf({ database }: FaultFixture): Promise<Set<string>> {
  const rows = await database.query<{ id: string }>(sql`select id from job_event`);
  return new Set(rows.map(({ id }) => toTypedId("evt", id)));
}

function signatureCounts(received: readonly ReceivedRequest[]): number[] {
  const counts = received.map(({ headers }) => String(headers["webhook-signature"]).split(" ").length);
  return [...new Set(counts)].toSorted((a, b) => a - b);
}
