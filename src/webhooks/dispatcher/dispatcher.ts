/**
 * The dispatcher sends due deliveries. It runs one claim statement at a time, which records results and leases due deliveries;
 * wake-ups and results that arrive meanwhile go into the next one. While nothing else is due, results wait a little for the claim
 * of the next wake-up. Any number of workers can run in parallel.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Registry } from "prom-client";
import { IDLE, startIntervalTask } from "../../core/concurrency/interval-task.ts";
import type { Database } from "../../core/postgres/database.ts";
import { isDataError } from "../../core/postgres/errors.ts";
import { listenToChannel } from "../../core/postgres/notify.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import {
  countWorkers,
  endpointsWithDueRetries,
  readQueueStats,
  WORKER_APPLICATION_NAME,
} from "../deliveries/queue-stats.sql.ts";
import type { AlertNotifier } from "../endpoints/alerts.ts";
import { applyStateChanges } from "./change-endpoint-state.sql.ts";
import { claimDue, type ClaimResult, recordFinished } from "./claim-due-and-record-attempts.sql.ts";
import {
  EndpointStates,
  MAX_IN_FLIGHT,
  MAX_IN_FLIGHT_PER_PARTNER,
  type SendBudgets,
} from "./endpoint-states.ts";
import type { FinishedDelivery, Lease } from "./lease.ts";
import { createDeliveryMetrics } from "./metrics.ts";
import { mergeStateChanges, type EndpointStateChange, type Resolution } from "./retry-or-disable.ts";
import { type DeliveryDeps, InFlightDeliveries } from "./sign-and-send.ts";
import { untilAborted } from "../../core/concurrency/timeout.ts";

export interface DispatcherDeps extends DeliveryDeps {
  database: Database;
  secretBox: Pick<SecretBox, "open">;
  /** Schedules a call of `enqueueDue` on any worker at `atMs`. It can be lost; the sweep makes up for it. */
  scheduleWakeUp: (endpointId: string, atMs: number) => void;
  /** If absent, owners get no mail about failing endpoints. */
  alertNotifier?: AlertNotifier | undefined;
}

/** Results that the next claim records. They are kept if it fails while PostgreSQL is unavailable. */
interface ResultBatch {
  finished: FinishedDelivery[];
  /** By endpoint id. */
  stateChanges: Map<string, EndpointStateChange>;
  /** Delays, counted from the record of the results, after which endpoints have work again. */
  wakeUps: (readonly [endpointId: string, delayMs: number])[];
}

const emptyBatch = (): ResultBatch => ({ finished: [], stateChanges: new Map(), wakeUps: [] });

/** The share of free slots for first attempts if retries are due too. */
const FIRST_ATTEMPT_SHARE = 0.8;
/** Endpoints with retries per claim. */
const MAX_RETRY_ENDPOINTS = 100;
const RETRY_DELAY_MS = { min: 100, max: 5_000 } as const;
const STOP_TIMEOUT_MS = 20_000;
/** How long results wait for a claim that is needed anyway: a claim for them alone costs as much. */
const RESULT_DELAY_MS = 50;
/** Results that do not wait for more. */
const MAX_WAITING_RESULTS = 100;
/** Allowed difference between the clocks of this process and PostgreSQL. */
const WAKE_GRACE_MS = 5;

export class Dispatcher implements AsyncDisposable {
  readonly #deps: DispatcherDeps;
  readonly endpoints: EndpointStates;
  readonly deliveries: InFlightDeliveries;
  /** Endpoints to check for retries. */
  readonly #retryEndpoints = new Set<string>();
  #results = emptyBatch();
  #cursor: string | null = null;
  #isWoken = false;
  /** True if the last claim left deliveries that are due, because a limit was reached. Results make room for them. */
  #hasLeftDeliveries = false;
  #resultTimer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | null = null;
  #refillTimer: NodeJS.Timeout | undefined;
  /** Aborted when the dispatcher stops claiming. */
  readonly #stop = new AbortController();
  /** Aborted when it no longer waits for deliveries in flight. */
  readonly #abandon = new AbortController();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.endpoints = new EndpointStates(deps);
    this.deliveries = new InFlightDeliveries(deps, this.endpoints, {
      onResolved: (endpointId, resolution) => this.#addResult(endpointId, resolution),
      onFinished: () => this.#claimIfNeeded(),
    });
  }

  /** Checks for due deliveries. A property, so that it can be passed as a callback. */
  readonly wake = (): void => {
    this.#isWoken = true;
    this.#claimIfNeeded();
  };

  /** Checks these endpoints for due retries, probes and expired leases. */
  enqueueDue(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.#retryEndpoints.add(id);
    this.wake();
  }

  /** Stops leasing, waits up to 20 s for deliveries in flight and records them. Leases of slower ones expire. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#refillTimer);
    this.#claimIfNeeded();
    const timeout = setTimeout(() => this.#abandon.abort(), STOP_TIMEOUT_MS);
    // A running claim may return leases. They are sent, because other workers must wait until they expire.
    await this.#claiming;
    await untilAborted(this.deliveries.drained(), this.#abandon.signal);
    await this.#claiming;
    clearTimeout(timeout);
    clearTimeout(this.#resultTimer);
    this.#abandon.abort();
  }

  #freeSlots(): number {
    return this.#stop.signal.aborted ? 0 : MAX_IN_FLIGHT - this.deliveries.size;
  }

  #hasWork(): boolean {
    if (this.#abandon.signal.aborted) return false;
    return this.#mustRecordNow() || (this.#isWoken && this.#freeSlots() > 0);
  }

  #mustRecordNow(): boolean {
    const { finished, stateChanges } = this.#results;
    if (stateChanges.size > 0) return true;
    if (finished.length === 0) return false;
    const isUrgent = finished.length >= MAX_WAITING_RESULTS || this.#stop.signal.aborted;
    return isUrgent || this.#hasLeftDeliveries || this.#retryEndpoints.size > 0;
  }

  #claimIfNeeded(): void {
    if (this.#claiming) return;
    if (!this.#hasWork()) {
      if (this.#results.finished.length > 0) this.#resultTimer ??= setTimeout(this.wake, RESULT_DELAY_MS);
      return;
    }
    this.#claiming = this.#claimLoop().finally(() => {
      this.#claiming = null;
      this.#claimIfNeeded();
    });
  }

  async #claimLoop(): Promise<void> {
    let pauseMs: number = RETRY_DELAY_MS.min;
    while (this.#hasWork()) {
      try {
        await this.#claimOnce();
        pauseMs = RETRY_DELAY_MS.min;
      } catch (error) {
        const { message } = error as Error;
        this.#deps.logger.warn({ error: message }, "claiming deliveries failed, retrying");
        this.#isWoken = true;
        await pause(pauseMs, undefined, { signal: this.#abandon.signal }).catch(() => undefined);
        pauseMs = Math.min(RETRY_DELAY_MS.max, pauseMs * 2);
      }
    }
  }

  async #claimOnce(): Promise<void> {
    const { clock, scheduleWakeUp } = this.#deps;
    // Between two claims, so that no endpoint of a running claim is evicted.
    this.endpoints.evictIdle(clock.elapsed());
    const batch = this.#results;
    this.#results = emptyBatch();
    clearTimeout(this.#resultTimer);
    this.#resultTimer = undefined;
    const budgets = this.endpoints.sendBudgets(clock.elapsed(), this.#freeSlots() < MAX_IN_FLIGHT / 2);
    const { retryEndpoints, hasMore } = this.#takeRetryEndpoints(budgets);
    this.#isWoken = false;
    const freeSlots = this.#freeSlots();
    const { leases, cursor, hasOmittedEndpoints } = await this.#runClaim(batch, retryEndpoints, {
      ...budgets,
      freeSlots,
    }).catch(async (error: unknown) => {
      for (const id of retryEndpoints) this.#retryEndpoints.add(id);
      await this.#restoreResults(batch, error);
      throw error;
    });
    // After the claim, because due times count from when the result is recorded.
    for (const [endpointId, inMs] of batch.wakeUps)
      scheduleWakeUp(endpointId, clock.now() + inMs + WAKE_GRACE_MS);
    // Endpoints are left to scan: after this claim's, or before it if it did not start at the first.
    if (cursor !== null || this.#cursor !== null || hasMore) this.#isWoken = true;
    this.#cursor = cursor;
    const full = servedInFull(leases);
    const hasUsedSlots = leases.length >= freeSlots;
    const isLimited = full.size > 0 || [...budgets.byEndpoint.values()].includes(0);
    this.#hasLeftDeliveries = hasUsedSlots || isLimited || hasOmittedEndpoints;
    await this.deliveries.sendAll(leases);
    for (const id of retryEndpoints) if (hasUsedSlots || full.has(id)) this.#retryEndpoints.add(id);
    for (const id of this.endpoints.ofBusyPartners(retryEndpoints)) this.#retryEndpoints.add(id);
    this.#scheduleRefill(budgets.isRateLimited);
  }

  async #runClaim(
    batch: ResultBatch,
    retryEndpoints: readonly string[],
    { byEndpoint, byPartner, freeSlots }: SendBudgets & { freeSlots: number },
  ): Promise<ClaimResult> {
    const { database, metrics } = this.#deps;
    const startedMs = performance.now();
    // First, so that the claim does not lease for an endpoint that was just disabled or paused.
    if (batch.stateChanges.size > 0) await applyStateChanges(this.#deps, batch.stateChanges);
    const result = await claimDue(database, {
      finished: batch.finished,
      freeSlots,
      // Rounded randomly, so that retries get their share even of a few slots.
      maxFirstAttempts:
        retryEndpoints.length > 0 ? Math.floor(freeSlots * FIRST_ATTEMPT_SHARE + Math.random()) : freeSlots,
      retryEndpoints,
      cursor: this.#cursor,
      sendBudgets: byEndpoint,
      partnerBudgets: byPartner,
      maxPerPartner: MAX_IN_FLIGHT_PER_PARTNER,
      workerCount: this.endpoints.workerCount,
    });
    metrics.claims.observe((performance.now() - startedMs) / 1000);
    return result;
  }

  /** Removes and returns the queued endpoints that have budget left. Endpoints queued during the claim wait for the next. */
  #takeRetryEndpoints({ byEndpoint }: SendBudgets): { retryEndpoints: string[]; hasMore: boolean } {
    const eligible = [...this.#retryEndpoints].filter((id) => byEndpoint.get(id) !== 0);
    const retryEndpoints = this.#freeSlots() > 0 ? eligible.slice(0, MAX_RETRY_ENDPOINTS) : [];
    for (const id of retryEndpoints) this.#retryEndpoints.delete(id);
    return { retryEndpoints, hasMore: eligible.length > retryEndpoints.length };
  }

  /** Wakes when the first rate-limited endpoint has a token again. The scheduler's resolution of 1 s is too coarse. */
  #scheduleRefill(isRateLimited: boolean): void {
    const ms = this.endpoints.msUntilRefill(this.#deps.clock.elapsed()) ?? (isRateLimited ? 1 : null);
    clearTimeout(this.#refillTimer);
    if (ms !== null && !this.#stop.signal.aborted) this.#refillTimer = setTimeout(this.wake, Math.max(1, ms));
  }

  #addResult(endpointId: string, { finished, stateChange, wakeUpDelaysMs }: Resolution): void {
    this.#results.finished.push(finished);
    if (stateChange) this.#mergeStateChange(endpointId, stateChange);
    // A claim during the probe could not lease its retries and has removed it from the queue.
    if (stateChange?.circuit === null) this.#retryEndpoints.add(endpointId);
    for (const delayMs of wakeUpDelaysMs) this.#results.wakeUps.push([endpointId, delayMs]);
  }

  #mergeStateChange(endpointId: string, change: EndpointStateChange): void {
    const { stateChanges } = this.#results;
    stateChanges.set(endpointId, mergeStateChanges(stateChanges.get(endpointId), change));
  }

  /** Puts a batch back in front after its claim failed with `error`. */
  async #restoreResults({ finished, stateChanges, wakeUps }: ResultBatch, error: unknown): Promise<void> {
    const unrecorded = isDataError(error) ? await this.#recordOneByOne(finished) : finished;
    const newer = this.#results;
    this.#results = {
      finished: [...unrecorded, ...newer.finished],
      stateChanges: new Map(stateChanges),
      wakeUps: [...wakeUps, ...newer.wakeUps],
    };
    for (const [endpointId, change] of newer.stateChanges) this.#mergeStateChange(endpointId, change);
  }

  /** Records results one by one, so that one that PostgreSQL rejects does not block the others. Its lease expires. */
  async #recordOneByOne(finished: readonly FinishedDelivery[]): Promise<FinishedDelivery[]> {
    const { database, logger } = this.#deps;
    const unrecorded: FinishedDelivery[] = [];
    for (const delivery of finished) {
      await recordFinished(database, [delivery]).catch((error: unknown) => {
        if (!isDataError(error)) unrecorded.push(delivery);
        else
          logger.error(
            { delivery: delivery.id, error: (error as Error).message },
            "recording an attempt failed",
          );
      });
    }
    return unrecorded;
  }
}

/** The endpoints that received all that they could, so that they may have more due deliveries. */
function servedInFull(leases: readonly Lease[]): Set<string> {
  const leased = new Map<string, number>();
  for (const { endpointId } of leases) leased.set(endpointId, (leased.get(endpointId) ?? 0) + 1);
  return new Set(
    leases.flatMap(({ endpointId, endpoint }) =>
      leased.get(endpointId) === endpoint.sendBudget ? [endpointId] : [],
    ),
  );
}

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
  const listener = listenToChannel({
    url: databaseUrl,
    channel: DELIVERIES_CHANNEL,
    applicationName: WORKER_APPLICATION_NAME,
    logger,
    onNotification: (payload) => dispatcher.enqueueDue(payload === "" ? [] : payload.split(",")),
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
    enqueueDue: (endpointId) => dispatcher.enqueueDue([endpointId]),
    async sweep() {
      const due = await endpointsWithDueRetries(database);
      if (due !== null) dispatcher.enqueueDue(due);
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
