/** The composition of a worker: the dispatcher of webhooks, the sender of mails, and the scheduler that wakes them. */
import type { Registry } from "prom-client";
import type { Config } from "./config/config.ts";
import type { Clock } from "./platform/clock.ts";
import { entities } from "./entities.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import type { Logger } from "./platform/logger.ts";
import { createMailTransport } from "./mail/mail.transport.ts";
import { startMailWorker } from "./mail/worker.service.ts";
import type { Mongo } from "./platform/mongo.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import type { Tracing } from "./platform/tracing.ts";
import type { RequestLog } from "./request-log/request-log.service.ts";
import { mailHandlers } from "./scheduling/mail-tasks.ts";
import { requestLogHandlers } from "./scheduling/request-log-tasks.ts";
import { createScheduler } from "./scheduling/scheduler.ts";
import { createWakeUps, webhookHandlers } from "./scheduling/webhook-tasks.ts";
import type { DeliveryService } from "./webhooks/delivery.service.ts";
import type { EndpointService } from "./webhooks/endpoint.service.ts";
import type { TellOfTrouble } from "./webhooks/endpoint.trouble.ts";
import type { Sender } from "./webhooks/sender.ts";
import { startWebhookWorker, type WebhookWorker } from "./webhooks/worker.service.ts";

export interface WorkerParts {
  config: Config;
  /** The process's own, which waits for the disk: that a mail was sent must not be forgotten. */
  mainDatabase: Database;
  databaseUrl: string;
  mongo: Mongo;
  box: SecretBox;
  services: {
    sender: Sender;
    endpoints: Pick<EndpointService, "disableFailing">;
    deliveries: Pick<DeliveryService, "retire">;
    requests: Pick<RequestLog, "retire">;
  };
  tellOfTrouble?: TellOfTrouble;
  clock: Clock;
  logger: Logger;
  registry: Registry;
  tracing?: Tracing | undefined;
}

/**
 * A worker's own connections, so that neither it nor the API waits for the other's. Its statements know their indexes, and
 * a plan that PostgreSQL made while the queue was empty must not read all of it when it is full. And it waits for no disk:
 * what a crash of PostgreSQL takes back is that something was sent, which is then sent again; deliveries themselves are
 * written with their change, durably.
 */
const POOL_SIZE = 4;
const SESSION = { enable_seqscan: "off", synchronous_commit: "off" };

/** Starts to deliver. Disposing takes nothing more, and waits for what is on its way. */
export async function startWorker(
  parts: WorkerParts,
): Promise<Pick<WebhookWorker, "problem"> & AsyncDisposable> {
  const { config, services, mongo, logger, tracing } = parts;
  const scheduler = createScheduler({ mongo, logger, tracing });
  const database = await openDatabase({
    url: parts.databaseUrl,
    poolSize: POOL_SIZE,
    entities,
    session: SESSION,
    tracing,
  });
  const worker = await startWebhookWorker({
    ...parts,
    database,
    sender: services.sender,
    wakeAt: createWakeUps(scheduler).wakeAt,
    schedule: config.webhooks.retrySchedule,
  });
  const mails = startMailWorker({
    ...parts,
    database: parts.mainDatabase,
    transport: createMailTransport(config.mail),
  });
  scheduler.start([
    ...mailHandlers(mails),
    ...requestLogHandlers({
      retire: async () => {
        const dropped = await services.requests.retire();
        if (dropped.length > 0) logger.info({ dropped }, "requests past their retention are gone");
      },
    }),
    ...webhookHandlers({
      fallDue: (endpointId) => worker.fallDue(endpointId),
      sweep: () => worker.sweep(),
      disableFailing: async () => {
        for (const { id, url } of await services.endpoints.disableFailing())
          logger.warn({ endpoint: id, host: new URL(url).host }, "an endpoint that only failed was disabled");
      },
      retire: async () => {
        const retired = await services.deliveries.retire();
        if (retired.deleted > 0 || retired.dropped.length > 0)
          logger.info(retired, "deliveries past their retention are gone");
      },
    }),
  ]);
  return {
    problem: () => worker.problem(),
    async [Symbol.asyncDispose]() {
      // Its handlers poke the worker, and the worker's last results are still to be scheduled.
      scheduler.stopTaking();
      await Promise.all([worker[Symbol.asyncDispose](), mails[Symbol.asyncDispose]()]);
      await scheduler[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
