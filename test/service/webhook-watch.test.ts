/** The watch over deliveries that are stuck, for which a worker is not ready: it goes by no clock that anybody sets. */
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { createAddressGuard } from "../../src/platform/address-guard.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createOutgoingHttp } from "../../src/platform/outgoing-http.ts";
import { sql } from "../../src/platform/sql.ts";
import { createSender } from "../../src/webhooks/sender.ts";
import { startWebhookWorker } from "../../src/webhooks/worker.service.ts";
import { createFakeClock, HOUR_MS, MINUTE_MS } from "../support/fake-clock.ts";
import { testBox } from "../support/secret.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { startRig } from "../support/webhook-rig.ts";

it("tells that nothing is sent once it has been so for a minute, wherever the clock is set meanwhile", async () => {
  await using rig = await startRig();
  await using receiver = await startReceiver();
  await using http = createOutgoingHttp({ guard: createAddressGuard({ allowPrivate: true }) });
  const clock = createFakeClock();
  await using worker = await startWebhookWorker({
    database: rig.app.database,
    databaseUrl: rig.app.databaseUrl,
    sender: createSender({ http, clock: systemClock, docsUrl: null }),
    box: testBox,
    wakeAt: () => undefined,
    schedule: [0],
    clock,
    logger: createLogger("silent"),
    registry: new Registry(),
  });
  const endpointId = await rig.endpoint({ url: receiver.url, maxInFlight: 1 });
  const send = async (count: number): Promise<void> => {
    await rig.app.jobs(
      rig.agent,
      Array.from({ length: count }, () => ({})),
    );
    worker.fallDue(endpointId);
  };
  await send(1);
  await rig.all(endpointId, "delivered");
  const { promise: hung, resolve: letGo } = Promise.withResolvers<void>();
  receiver.respond = async () => {
    await hung;
    return {};
  };
  await send(2);
  await receiver.waitFor(2);
  await rig.app.database.query(sql`
    update webhook_delivery set due_at = clock_timestamp() - interval '2 minutes'
    where status = 'pending' and lease_token is null`);

  clock.jump(HOUR_MS);
  // The last attempt has just ended, whatever the time of day.
  expect(worker.problem()).toBeNull();
  clock.advance(MINUTE_MS);
  await vi.waitFor(() => expect(worker.problem()).toContain("nothing is being sent"), 20_000);
  clock.jump(-2 * HOUR_MS);
  expect(worker.problem()).toContain("nothing is being sent");
  letGo();
});
