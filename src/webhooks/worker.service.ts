/** A worker: the dispatcher with what wakes it, what watches it, and the work that the scheduler's tasks do. */
import type { Registry } from "prom-client";
import { listenTo } from "../platform/notifications.ts";
import { startRepeating } from "../platform/repeating.ts";
import { countWorkers, endpointsDueAgain, queueState, WORKER_CONNECTION } from "./delivery-queue.ts";
import { createDispatcher, type DispatcherParts } from "./dispatcher.ts";
import { DELIVERIES_CHANNEL } from "./fan-out.service.ts";
import { createWebhookMetrics } from "./webhook.metrics.ts";

export interface WorkerParts extends Omit<DispatcherParts, "metrics"> {
  /** For the connection on which it listens. */
  databaseUrl: string;
  registry: Registry;
}

export interface WebhookWorker extends AsyncDisposable {
  /** Retries or a probe of the endpoint may be due. */
  fallDue(endpointId: string): void;
  /** Looks for whatever is due, whoever forgot it. */
  sweep(): Promise<void>;
  /** Null: well. Otherwise what is wrong: something has long been due and nothing is being sent. */
  problem(): string | null;
}

const WATCH_EVERY_MS = 5_000;
const STUCK_AFTER_S = 60;

/** Starts to deliver; the weeks of the log are there. Disposing waits for what is on its way, and records it. */
export async function startWebhookWorker(parts: WorkerParts): Promise<WebhookWorker> {
  const { database, databaseUrl, clock, logger, registry } = parts;
  const metrics = createWebhookMetrics(registry, () => dispatcher.inFlight());
  const dispatcher = createDispatcher({ ...parts, metrics });
  let dueLagS = 0;

  const listener = listenTo({
    url: databaseUrl,
    channel: DELIVERIES_CHANNEL,
    name: WORKER_CONNECTION,
    logger,
    onNotification: () => dispatcher.poke(),
  });
  // Not the scheduler's: it must tell the truth when that stands still.
  const watch = startRepeating("watch deliveries", WATCH_EVERY_MS, logger, async () => {
    dispatcher.share(await countWorkers(database));
    const state = await queueState(database);
    dueLagS = state.dueLagS;
    metrics.queue(state);
  });

  return {
    fallDue: (endpointId) => dispatcher.fallDue([endpointId]),
    async sweep() {
      dispatcher.fallDue(await endpointsDueAgain(database));
    },
    problem() {
      const quietS = (clock.elapsed() - (dispatcher.lastEndedMs() ?? Number.NEGATIVE_INFINITY)) / 1000;
      if (dueLagS < STUCK_AFTER_S || quietS < STUCK_AFTER_S) return null;
      return `a delivery has been due for ${Math.round(dueLagS)} s and nothing is being sent`;
    },
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]();
      await watch[Symbol.asyncDispose]();
      await dispatcher[Symbol.asyncDispose]();
    },
  };
}
