/**
 * The dispatcher: it sends what is due. It keeps one statement in flight, the turn, which records what has ended and leases
 * what is due next; meanwhile pokes and results pile up for the turn after, so turns grow with the load, and stay quick
 * without one. Any number of workers may run beside it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/postgres/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import type { Tracing } from "../../platform/tracing/tracing.ts";
import { EndpointStates, type SendBudgets } from "./endpoint-states.ts";
import { ResultBuffer, type ResultBatch } from "./result-buffer.ts";
import { InFlightDeliveries, type AttemptMetrics } from "./in-flight.ts";
import { unserved, claimDue, type ClaimResult } from "./claim.ts";
import { applyStateChanges } from "../endpoints/state-changes.ts";
import type { AlertNotifier } from "../endpoints/alerts.ts";
import type { RetrySchedule } from "../../platform/retry-schedule.ts";
import type { Sender } from "./sender.ts";

export interface DispatcherDeps {
  database: Database;
  sender: Sender;
  secretBox: Pick<SecretBox, "open">;
  /** Sees to it that some worker's `fallDue` is called for the endpoint once `atMs` has come. It may be lost. */
  scheduleWakeUp: (endpointId: string, atMs: number) => void;
  schedule: RetrySchedule;
  /** Absent: nobody is told of endpoints in trouble. */
  alertNotifier?: AlertNotifier | undefined;
  clock: Clock;
  logger: Logger;
  metrics: DispatcherMetrics;
  tracing?: Tracing | undefined;
}

/** What the dispatcher counts. */
export interface DispatcherMetrics extends AttemptMetrics {
  /** A turn took so long. */
  observeClaim(seconds: number): void;
}

export interface Dispatcher extends AsyncDisposable {
  /** There may be something to deliver. */
  wake(): void;
  /** Retries, a probe or an expired lease of these endpoints may be due. */
  enqueueDue(endpointIds: Iterable<string>): void;
  /** So many workers share the limits of each endpoint. */
  setWorkerCount(workers: number): void;
  /** Deliveries on their way. */
  inFlight(): number;
  /** When an attempt last ended, by the clock's `elapsed`; null: none has. */
  lastFinishedMs(): number | null;
}

/** Deliveries on their way at once, over all endpoints. */
const MAX_IN_FLIGHT = 512;
/** Of the slots that come free, where both wait: the rest is for retries. */
const FIRST_ATTEMPT_SHARE = 0.8;
/** Endpoints named in one turn. */
const MAX_RETRY_ENDPOINTS = 100;
const RETRY_DELAY_MS = { least: 100, most: 5_000 } as const;
const STOP_TIMEOUT_MS = 20_000;
/** By so much the clocks of the timer and of PostgreSQL may differ. */
const WAKE_GRACE_MS = 5;

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  return new LeasingDispatcher(deps);
}

class LeasingDispatcher implements Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #endpoints: EndpointStates;
  readonly #results: ResultBuffer;
  readonly #deliveries: InFlightDeliveries;
  /** Endpoints to look at for retries. */
  readonly #retryEndpoints = new Set<string>();
  /** Where the next turn goes on looking. */
  #cursor: string | null = null;
  #isWoken = false;
  #claiming: Promise<void> | null = null;
  #refillTimer: NodeJS.Timeout | undefined;
  /** Aborted when it is to stop, and when it is to stop whatever is left. */
  readonly #stop = new AbortController();
  readonly #abandon = new AbortController();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#endpoints = new EndpointStates(deps);
    this.#results = new ResultBuffer(deps.database, deps.logger);
    const shared = { endpoints: this.#endpoints, results: this.#results };
    this.#deliveries = new InFlightDeliveries({ ...deps, ...shared }, () => this.#claimIfNeeded());
  }

  wake(): void {
    this.#isWoken = true;
    this.#claimIfNeeded();
  }

  enqueueDue(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.#retryEndpoints.add(id);
    this.wake();
  }

  setWorkerCount(workers: number): void {
    this.#endpoints.setWorkerCount(workers);
  }

  inFlight(): number {
    return this.#deliveries.size;
  }

  lastFinishedMs(): number | null {
    return this.#deliveries.lastFinishedMs;
  }

  /** Leases nothing more, waits for what is on its way and records it. What takes longer is left to its lease. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#refillTimer);
    const giveUp = setTimeout(() => this.#abandon.abort(), STOP_TIMEOUT_MS);
    const late = new Promise((resolve) => this.#abandon.signal.addEventListener("abort", resolve));
    // A turn under way may still bring leases, which are sent: nobody else would look at them for a while.
    await this.#claiming;
    await Promise.race([late, this.#deliveries.drained()]);
    await this.#claiming;
    clearTimeout(giveUp);
    this.#abandon.abort();
  }

  #freeSlots(): number {
    return this.#stop.signal.aborted ? 0 : MAX_IN_FLIGHT - this.#deliveries.size;
  }

  #hasWork(): boolean {
    if (this.#abandon.signal.aborted) return false;
    return !this.#results.isEmpty() || (this.#isWoken && this.#freeSlots() > 0);
  }

  #claimIfNeeded(): void {
    if (this.#claiming || !this.#hasWork()) return;
    this.#claiming = this.#claimLoop().finally(() => {
      this.#claiming = null;
      this.#claimIfNeeded();
    });
  }

  async #claimLoop(): Promise<void> {
    let pauseMs: number = RETRY_DELAY_MS.least;
    while (this.#hasWork()) {
      try {
        await this.#claimOnce();
        pauseMs = RETRY_DELAY_MS.least;
      } catch (error) {
        const { message } = error as Error;
        this.#deps.logger.warn({ error: message }, "a turn of the dispatcher failed; it is tried again");
        this.#isWoken = true;
        await pause(pauseMs, undefined, { signal: this.#abandon.signal }).catch(() => undefined);
        pauseMs = Math.min(RETRY_DELAY_MS.most, pauseMs * 2);
      }
    }
  }

  async #claimOnce(): Promise<void> {
    const { clock, scheduleWakeUp } = this.#deps;
    // Between two turns: nothing that a turn has leased for is forgotten.
    this.#endpoints.evictIdle(clock.elapsed());
    const batch = this.#results.take();
    const budgets = this.#endpoints.sendBudgets(clock.elapsed(), this.#freeSlots() < MAX_IN_FLIGHT / 2);
    const { again: retryEndpoints, isMore } = this.#takeRetryEndpoints(budgets);
    this.#isWoken = false;
    const freeSlots = this.#freeSlots();
    const { leases, cursor } = await this.#runClaim(batch, retryEndpoints, {
      ...budgets,
      free: freeSlots,
    }).catch(async (error: unknown) => {
      for (const id of retryEndpoints) this.#retryEndpoints.add(id);
      await this.#results.restore(batch, error);
      throw error;
    });
    // Not before: what is due again counts from its record.
    for (const [endpointId, inMs] of batch.wakeUps)
      scheduleWakeUp(endpointId, clock.now() + inMs + WAKE_GRACE_MS);
    // There are endpoints left to look at: behind this turn's, or before it where it began in the middle.
    if (cursor !== null || this.#cursor !== null || isMore) this.#isWoken = true;
    this.#cursor = cursor;
    await this.#deliveries.sendAll(leases);
    for (const id of unserved(retryEndpoints, { leases, free: freeSlots })) this.#retryEndpoints.add(id);
    this.#scheduleRefill(budgets.isRateLimited);
  }

  async #runClaim(
    batch: ResultBatch,
    retryEndpoints: readonly string[],
    { byEndpoint, free: freeSlots }: SendBudgets & { free: number },
  ): Promise<ClaimResult> {
    const { database, metrics } = this.#deps;
    const startedMs = performance.now();
    // First, so that the turn does not lease for an endpoint that has just been closed.
    if (batch.stateChanges.size > 0) await applyStateChanges(this.#deps, batch.stateChanges);
    const result = await claimDue(database, {
      finished: batch.finished,
      freeSlots,
      // By chance where it is no whole number, so that retries get their share of few slots, too.
      maxFirstAttempts:
        retryEndpoints.length > 0 ? Math.floor(freeSlots * FIRST_ATTEMPT_SHARE + Math.random()) : freeSlots,
      retryEndpoints,
      cursor: this.#cursor,
      sendBudgets: byEndpoint,
      workerCount: this.#endpoints.workerCount,
    });
    metrics.observeClaim((performance.now() - startedMs) / 1000);
    return result;
  }

  /** Those that may have something now. Who falls due while the turn is under way is for the turn after. */
  #takeRetryEndpoints({ byEndpoint }: SendBudgets): { again: string[]; isMore: boolean } {
    const eligible = [...this.#retryEndpoints].filter((id) => byEndpoint.get(id) !== 0);
    const taken = this.#freeSlots() > 0 ? eligible.slice(0, MAX_RETRY_ENDPOINTS) : [];
    for (const id of taken) this.#retryEndpoints.delete(id);
    return { again: taken, isMore: eligible.length > taken.length };
  }

  /** Rates are finer than the scheduler's seconds: it is looked again when the first endpoint may be sent to again. */
  #scheduleRefill(isRateLimited: boolean): void {
    const ms = this.#endpoints.msUntilRefill(this.#deps.clock.elapsed()) ?? (isRateLimited ? 1 : null);
    clearTimeout(this.#refillTimer);
    if (ms !== null && !this.#stop.signal.aborted)
      this.#refillTimer = setTimeout(() => this.wake(), Math.max(1, ms));
  }
}
