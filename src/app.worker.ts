/** The composition of a worker: the dispatcher, and the scheduler that wakes it. */
import type { Registry } from "prom-client";
import type { Config } from "./config/config.ts";
import type { Clock } from "./platform/clock.ts";
import type { Database } from "./platform/database.ts";
import type { Logger } from "./platform/logger.ts";
import type { Mongo } from "./platform/mongo.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { createScheduler } from "./scheduling/scheduler.ts";
import { createWakeUps, webhookHandlers } from "./scheduling/webhook-tasks.ts";
import type { Webhooks } from "./webhooks/webhooks.service.ts";
import { startWebhookWorker, type WebhookWorker } from "./webhooks/worker.service.ts";

export interface WorkerParts {
  config: Config;
  database: Database;
  databaseUrl: string;
  mongo: Mongo;
  box: SecretBox;
  webhooks: Webhooks;
  clock: Clock;
  logger: Logger;
  registry: Registry;
}

/** Starts to deliver. Disposing takes nothing more, and waits for what is on its way. */
export async function startWorker(
  parts: WorkerParts,
): Promise<Pick<WebhookWorker, "problem"> & AsyncDisposable> {
  const { config, webhooks, mongo, logger } = parts;
  const scheduler = createScheduler({ mongo, logger });
  const worker = await startWebhookWorker({
    ...parts,
    sender: webhooks.sender,
    wakeAt: createWakeUps(scheduler).wakeAt,
    schedule: config.webhooks.retrySchedule,
    retentionDays: config.retentionDays,
  });
  scheduler.start(
    webhookHandlers({
      fallDue: (endpointId) => worker.fallDue(endpointId),
      sweep: () => worker.sweep(),
      disableFailing: async () => {
        for (const { id, url } of await webhooks.endpoints.disableFailing())
          logger.warn({ endpoint: id, host: new URL(url).host }, "an endpoint that only failed was disabled");
      },
      retire: async () => {
        const retired = await webhooks.deliveries.retire();
        if (retired.deleted > 0 || retired.dropped.length > 0)
          logger.info(retired, "deliveries past their retention are gone");
      },
    }),
  );
  return {
    problem: () => worker.problem(),
    async [Symbol.asyncDispose]() {
      // Its handlers poke the worker, and the worker's last results are still to be scheduled.
      scheduler.stopTaking();
      await worker[Symbol.asyncDispose]();
      await scheduler[Symbol.asyncDispose]();
    },
  };
}
