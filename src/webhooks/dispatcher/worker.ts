/** The webhook worker: a dispatcher with its LISTEN connection, its monitoring and the work of scheduled tasks. */
import type { Registry } from "prom-client";
import { listenToChannel } from "../../core/postgres/notify.ts";
import { IDLE, startIntervalTask } from "../../core/concurrency/interval-task.ts";
import {
  countWorkers,
  endpointsWithDueRetries,
  readQueueStats,
  WORKER_APPLICATION_NAME,
} from "../deliveries/queue-stats.sql.ts";
import { Dispatcher, type DispatcherDeps } from "./dispatcher.ts";
import { createDeliveryMetrics } from "./metrics.ts";

/** PostgreSQL channel that wakes the dispatchers. The payload has the ids (UUIDs) of endpoints whose retries are due. */
export const DELIVERIES_CHANNEL = "waymark_deliveries";

export interface WebhookWorkerDeps extends Omit<DispatcherDeps, "metrics"> {
  /** URL for the LISTEN connection. */
  databaseUrl: string;
  registry: Registry;
}

export interface WebhookWorker extends AsyncDisposable {
  /** Checks the endpoint for due retries and probes. */
  enqueueDue(endpointId: string): void;
  /** Finds all endpoints with due deliveries, in case a wake-up was lost. */
  sweep(): Promise<void>;
  /** A message if a delivery has been due and nothing was sent for 60 s; otherwise null. */
  problem(): string | null;
}

const WATCH_INTERVAL_MS = 5_000;
const STUCK_AFTER_S = 60;

/** Starts delivering. The log's partitions must exist. Disposing waits for deliveries in flight and records them. */
export async function startWebhookWorker(deps: WebhookWorkerDeps): Promise<WebhookWorker> {
  const { database, databaseUrl, clock, logger, registry } = deps;
  const metrics = createDeliveryMetrics(registry, () => dispatcher.deliveries.size);
  const dispatcher = new Dispatcher({ ...deps, metrics });
  let oldestDueAgeS = 0;
  const enqueueDue = (endpointIds: readonly string[]): void => {
    watch.resume();
    dispatcher.enqueueDue(endpointIds);
  };

  const listener = listenToChannel({
    url: databaseUrl,
    channel: DELIVERIES_CHANNEL,
    applicationName: WORKER_APPLICATION_NAME,
    logger,
    onNotification: (payload) => enqueueDue(payload === "" ? [] : payload.split(",")),
  });
  // Not a scheduled task, because it must also work while the scheduler does not.
  const watch = startIntervalTask("watch deliveries", WATCH_INTERVAL_MS, logger, async () => {
    dispatcher.endpoints.setWorkerCount(await countWorkers(database));
    const { oldestDueAgeS: ageS, onHold } = await readQueueStats(database);
    oldestDueAgeS = ageS;
    metrics.oldestDueAge.set(ageS);
    metrics.onHold.set(onHold);
    return ageS === 0 && dispatcher.deliveries.size === 0 ? IDLE : undefined;
  });

  return {
    enqueueDue: (endpointId) => enqueueDue([endpointId]),
    async sweep() {
      const due = await endpointsWithDueRetries(database);
      if (due !== null) enqueueDue(due);
    },
    problem() {
      const idleS =
        (clock.elapsed() - (dispatcher.deliveries.lastFinishedMs ?? Number.NEGATIVE_INFINITY)) / 1000;
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
