/** The worker's check for stuck deliveries, which must not depend on the wall clock. */
import { Registry } from "prom-client";
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { HttpClient } from "../../../src/core/http-client/client.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { Sender } from "../../../src/webhooks/dispatcher/sign-and-send.ts";
import { startWebhookWorker } from "../../../src/webhooks/dispatcher/dispatcher.ts";
import { retryPolicies } from "../../../src/webhooks/retry-policy.ts";
import { createFakeClock, HOUR_MS, MINUTE_MS } from "../../support/fake-clock.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import { startDispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

it("reports a problem if nothing was sent for a minute, even if the clock is set", async () => {
  await using rig = await startDispatcherFixture();
  await using receiver = await startTestReceiver();
  await using http = new HttpClient({ guard: new AddressGuard({ allowPrivate: true }) });
  const clock = createFakeClock();
  // The worker watches the queue at intervals.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  await using worker = await startWebhookWorker({
    database: rig.app.database,
    databaseUrl: rig.app.databaseUrl,
    sender: new Sender({ http, clock: systemClock, docsUrl: null }),
    secretBox: testSecretBox,
    scheduleWakeUp: () => undefined,
    retryPolicies: retryPolicies([0]),
    clock,
    logger: createLogger("silent"),
    registry: new Registry(),
  });
  const endpointId = await rig.createEndpoint({ url: receiver.url, maxInFlight: 1 });
  const send = async (count: number): Promise<void> => {
    await rig.createJobs(count);
    worker.enqueueDue(endpointId);
  };
  await send(1);
  await rig.waitForStatus(endpointId, "delivered");
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
  // The last attempt has just finished. The wall clock does not matter.
  expect(worker.problem()).toBeNull();
  clock.advance(MINUTE_MS);
  vi.advanceTimersToNextTimer();
  await eventually(() => expect(worker.problem()).toContain("nothing is being sent"));
  clock.jump(-2 * HOUR_MS);
  expect(worker.problem()).toContain("nothing is being sent");
  letGo();
});
