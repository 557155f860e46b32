/** The composition of a worker: the dispatcher of webhooks, the sender of mails, and the scheduler that wakes them. */
import type { Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { Clock } from "../platform/clock.ts";
import { entities } from "./entities.ts";
import { openDatabase, type Database } from "../platform/postgres/database.ts";
import type { Logger } from "../platform/logger.ts";
import { createMailTransport, startMailWorker } from "../mail/api.ts";
import type { Mongo } from "../platform/mongo.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import type { RequestLog } from "../request-log/api.ts";
import {
  createScheduler,
  createWakeUpScheduler,
  mailHandlers,
  requestLogHandlers,
  webhookHandlers,
} from "../scheduling/api.ts";
import {
  type AlertNotifier,
  type DeliveryService,
  type EndpointService,
  type Sender,
  startWebhookWorker,
  type WebhookWorker,
} from "../webhooks/api.ts";

export interface WorkerDeps {
  config: Config;
  /** The process's own, which waits for the disk: that a mail was sent must not be forgotten. */
  mainDatabase: Database;
  databaseUrl: string;
  mongo: Mongo;
  secretBox: SecretBox;
  services: {
    sender: Sender;
    endpoints: Pick<EndpointService, "disableFailing">;
    deliveries: Pick<DeliveryService, "purgeExpired">;
    requests: Pick<RequestLog, "purgeExpired">;
  };
  alertNotifier?: AlertNotifier;
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
const SESSION_SETTINGS = { enable_seqscan: "off", synchronous_commit: "off" };

/** Starts to deliver. Disposing takes nothing more, and waits for what is on its way. */
export async function startWorker(
  deps: WorkerDeps,
): Promise<Pick<WebhookWorker, "problem"> & AsyncDisposable> {
  const { config, services, mongo, logger, tracing } = deps;
  const scheduler = createScheduler({ mongo, logger, tracing });
  const database = await openDatabase({
    url: deps.databaseUrl,
    poolSize: POOL_SIZE,
    entities,
    session: SESSION_SETTINGS,
    tracing,
  });
  const worker = await startWebhookWorker({
    ...deps,
    database,
    sender: services.sender,
    scheduleWakeUp: createWakeUpScheduler(scheduler).scheduleWakeUp,
    schedule: config.webhooks.retrySchedule,
  });
  const mails = startMailWorker({
    ...deps,
    database: deps.mainDatabase,
    transport: createMailTransport({ ...config.mail, directory: config.mail.folder }),
  });
  scheduler.start([
    ...mailHandlers(mails),
    ...requestLogHandlers({
      purgeExpired: async () => {
        const dropped = await services.requests.purgeExpired();
        if (dropped.length > 0) logger.info({ dropped }, "requests past their retention are gone");
      },
    }),
    ...webhookHandlers({
      enqueueDue: (endpointId) => worker.enqueueDue(endpointId),
      sweep: () => worker.sweep(),
      disableFailing: async () => {
        for (const { id, url } of await services.endpoints.disableFailing())
          logger.warn({ endpoint: id, host: new URL(url).host }, "an endpoint that only failed was disabled");
      },
      purgeExpired: async () => {
        const retired = await services.deliveries.purgeExpired();
        if (retired.deleted > 0 || retired.dropped.length > 0)
          logger.info(retired, "deliveries past their retention are gone");
      },
    }),
  ]);
  return {
    problem: () => worker.problem(),
    async [Symbol.asyncDispose]() {
      // Its handlers poke the worker, and the worker's last results are still to be scheduled.
      scheduler.stopClaiming();
      await Promise.all([worker[Symbol.asyncDispose](), mails[Symbol.asyncDispose]()]);
      await scheduler[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
