/** Composes a worker: the webhook dispatcher, the mail worker, and the scheduler that wakes them. */
import type { AppContext } from "./context.ts";
import type { Services } from "./services.ts";
import { applyDueSteps } from "../test-mode/api.ts";
import { createMailTransport, MailWorker } from "../mail/api.ts";
import type { Logger } from "../core/logger.ts";
import { type Scheduler, scheduleWakeUp, type WebhookWork, workerHandlers } from "../scheduling/api.ts";
import {
  type AlertNotifier,
  retryPolicies,
  startWebhookWorker,
  type WebhookWorker,
} from "../webhooks/api.ts";

interface WorkerOptions {
  /** The worker starts and disposes it. */
  scheduler: Scheduler;
  scheduleStep: (atMs: number) => void;
  services: Services;
  alertNotifier?: AlertNotifier;
}

/** A separate pool, so that the worker and the API do not wait for each other's connections. */
const POOL_SIZE = 4;
/**
 * `enable_seqscan`, `enable_bitmapscan`: a plan made with the statistics of an empty queue must follow the index of a full one in
 * order, and not scan all of it. `synchronous_commit`: a crash of PostgreSQL can lose results of deliveries, which are then sent
 * again; new deliveries are committed durably by the API.
 */
export const WORKER_SESSION = { enable_seqscan: "off", enable_bitmapscan: "off", synchronous_commit: "off" };

/** Starts sending webhooks and mails. Disposing claims nothing more and waits for what is in flight. */
export async function startWorker(
  context: Omit<AppContext, "metrics">,
  { scheduler, scheduleStep, services, alertNotifier }: WorkerOptions,
): Promise<Pick<WebhookWorker, "problem"> & AsyncDisposable> {
  const { config, logger } = context;
  const database = await context.database.openPool({ poolSize: POOL_SIZE, session: WORKER_SESSION });
  const worker = await startWebhookWorker({
    ...context,
    database,
    alertNotifier,
    sender: services.sender,
    scheduleWakeUp: (endpointId, atMs) => scheduleWakeUp(scheduler, endpointId, atMs),
    retryPolicies: retryPolicies(config.webhooks.retrySchedule),
  });
  const stepDeps = { ...context, jobs: services.jobs, scheduleStep };
  const mails = new MailWorker({
    ...context,
    transport: createMailTransport({ ...config.mail, directory: config.mail.folder }),
  });
  const handlers = workerHandlers({
    webhooks: webhookWork(worker, services, logger),
    mails,
    notifications: services.notificationWorker,
    requestLog: {
      purgeExpired: async () => {
        const dropped = await services.requests.purgeExpired();
        if (dropped.length > 0) logger.info({ dropped }, "deleted request log entries past their retention");
      },
    },
    applyDueSteps: () => applyDueSteps(stepDeps),
  });
  scheduler.start(handlers);
  return {
    problem: () => worker.problem(),
    async [Symbol.asyncDispose]() {
      // The scheduler closes last: the worker still schedules retries of its last results.
      scheduler.stopClaiming();
      await Promise.all([worker[Symbol.asyncDispose](), mails[Symbol.asyncDispose]()]);
      await scheduler[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Returns the functions that the scheduled webhook tasks call. They log disabled endpoints and deletions. */
function webhookWork(
  worker: WebhookWorker,
  { endpoints, deliveries }: Services,
  logger: Logger,
): WebhookWork {
  return {
    enqueueDue: (endpointId) => worker.enqueueDue(endpointId),
    sweep: () => worker.sweep(),
    disableFailing: async (mode) => {
      for (const { id, url } of await endpoints.disableFailing(mode))
        logger.warn(
          { endpoint: id, host: new URL(url).host, mode },
          "disabled an endpoint whose deliveries all failed",
        );
    },
    purgeExpired: async () => {
      const purged = await deliveries.purgeExpired();
      if (purged.deleted > 0 || purged.dropped.length > 0)
        logger.info(purged, "deleted deliveries past their retention");
    },
  };
}
