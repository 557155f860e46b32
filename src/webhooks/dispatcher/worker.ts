/** A worker: the dispatcher with what wakes it, what watches it, and the work that the scheduler's tasks do. */
import type { Registry } from "prom-client";
import { listenToChannel } from "../../platform/postgres/notify.ts";
import { startIntervalTask } from "../../platform/concurrency/interval-task.ts";
import {
  countWorkers,
  endpointsWithDueRetries,
  readQueueStats,
  WORKER_APPLICATION_NAME,
} from "../deliveries/queue-stats.ts";
import { createDispatcher, type DispatcherDeps } from "./dispatcher.ts";
import { DELIVERIES_CHANNEL } from "../deliveries/channel.ts";
import { createWebhookMetrics } from "./metrics.ts";

export interface WebhookWorkerDeps extends Omit<DispatcherDeps, "metrics"> {
  /** For the connection on which it listens. */
  databaseUrl: string;
  registry: Registry;
}

export interface WebhookWorker extends AsyncDisposable {
  /** Retries or a probe of the endpoint may be due. */
  enqueueDue(endpointId: string): void;
  /** Looks for whatever is due, whoever forgot it. */
  sweep(): Promise<void>;
  /** Null: well. Otherwise what is wrong: something has long been due and nothing is being sent. */
  problem(): string | null;
}

const WATCH_INTERVAL_MS = 5_000;
const STUCK_AFTER_S = 60;

/** Starts to deliver; the weeks of the log are there. Disposing waits for what is on its way, and records it. */
export async function startWebhookWorker(deps: WebhookWorkerDeps): Promise<WebhookWorker> {
  const { database, databaseUrl, clock, logger, registry } = deps;
  const metrics = createWebhookMetrics(registry, () => dispatcher.inFlight());
  const dispatcher = createDispatcher({ ...deps, metrics });
  let oldestDueAgeS = 0;

  const listener = listenToChannel({
    url: databaseUrl,
    channel: DELIVERIES_CHANNEL,
    applicationName: WORKER_APPLICATION_NAME,
    logger,
    onNotification: () => dispatcher.wake(),
  });
  // Not the scheduler's: it must tell the truth when that stands still.
  const watch = startIntervalTask("watch deliveries", WATCH_INTERVAL_MS, logger, async () => {
    dispatcher.setWorkerCount(await countWorkers(database));
    const stats = await readQueueStats(database);
    oldestDueAgeS = stats.oldestDueAgeS;
    metrics.setQueueStats(stats);
  });

  return {
    enqueueDue: (endpointId) => dispatcher.enqueueDue([endpointId]),
    async sweep() {
      dispatcher.enqueueDue(await endpointsWithDueRetries(database));
    },
    problem() {
      const idleS = (clock.elapsed() - (dispatcher.lastFinishedMs() ?? Number.NEGATIVE_INFINITY)) / 1000;
      if (oldestDueAgeS < STUCK_AFTER_S || idleS < STUCK_AFTER_S) return null;
      return `a delivery has been due for ${Math.round(oldestDueAgeS)} s and nothing is being sent`;
    },
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]();
      await watch[Symbol.asyncDispose]();
      await dispatcher[Symbol.asyncDispose]();
    },
  };
}
