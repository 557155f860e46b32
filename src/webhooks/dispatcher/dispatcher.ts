/**
 * The dispatcher sends due deliveries. It runs one claim statement at a time, which records results and leases due deliveries;
 * wake-ups and results that arrive meanwhile go into the next one. Any number of workers can run in parallel.
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
  /** Schedules a call of `enqueueDue` on any worker at `atMs`. It can be lost; the sweep makes up for it. */
  scheduleWakeUp: (endpointId: string, atMs: number) => void;
  schedule: RetrySchedule;
  /** If absent, owners get no mail about failing endpoints. */
  alertNotifier?: AlertNotifier | undefined;
  clock: Clock;
  logger: Logger;
  metrics: DispatcherMetrics;
  tracing?: Tracing | undefined;
}

export interface DispatcherMetrics extends AttemptMetrics {
  /** Records the duration of a claim. */
  observeClaim(seconds: number): void;
}

export interface Dispatcher extends AsyncDisposable {
  /** Checks for due deliveries. */
  wake(): void;
  /** Checks these endpoints for due retries, probes and expired leases. */
  enqueueDue(endpointIds: Iterable<string>): void;
  /** Sets the number of workers that share the limits of each endpoint. */
  setWorkerCount(workers: number): void;
  /** The number of deliveries in flight. */
  inFlight(): number;
  /** When the last attempt finished, by the clock's `elapsed`; null before the first. */
  lastFinishedMs(): number | null;
}

/** Deliveries in flight in this process, over all endpoints. */
const MAX_IN_FLIGHT = 512;
/** The share of free slots for first attempts if retries are due too. */
const FIRST_ATTEMPT_SHARE = 0.8;
/** Endpoints with retries per claim. */
const MAX_RETRY_ENDPOINTS = 100;
const RETRY_DELAY_MS = { min: 100, max: 5_000 } as const;
const STOP_TIMEOUT_MS = 20_000;
/** Allowed difference between the clocks of this process and PostgreSQL. */
const WAKE_GRACE_MS = 5;

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  return new LeasingDispatcher(deps);
}

class LeasingDispatcher implements Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #endpoints: EndpointStates;
  readonly #results: ResultBuffer;
  readonly #deliveries: InFlightDeliveries;
  /** Endpoints to check for retries. */
  readonly #retryEndpoints = new Set<string>();
  /** The cursor of the next claim. */
  #cursor: string | null = null;
  #isWoken = false;
  #claiming: Promise<void> | null = null;
  #refillTimer: NodeJS.Timeout | undefined;
  /** Aborted when the dispatcher stops claiming. */
  readonly #stop = new AbortController();
  /** Aborted when it no longer waits for deliveries in flight. */
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

  /** Stops leasing, waits up to 20 s for deliveries in flight and records them. Leases of slower ones expire. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#refillTimer);
    const timeout = setTimeout(() => this.#abandon.abort(), STOP_TIMEOUT_MS);
    const abandoned = new Promise((resolve) => this.#abandon.signal.addEventListener("abort", resolve));
    // A running claim may return leases. They are sent, because other workers must wait until they expire.
    await this.#claiming;
    await Promise.race([abandoned, this.#deliveries.drained()]);
    await this.#claiming;
    clearTimeout(timeout);
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
    this.#endpoints.evictIdle(clock.elapsed());
    const batch = this.#results.take();
    const budgets = this.#endpoints.sendBudgets(clock.elapsed(), this.#freeSlots() < MAX_IN_FLIGHT / 2);
    const { retryEndpoints, hasMore } = this.#takeRetryEndpoints(budgets);
    this.#isWoken = false;
    const freeSlots = this.#freeSlots();
    const { leases, cursor } = await this.#runClaim(batch, retryEndpoints, {
      ...budgets,
      freeSlots,
    }).catch(async (error: unknown) => {
      for (const id of retryEndpoints) this.#retryEndpoints.add(id);
      await this.#results.restore(batch, error);
      throw error;
    });
    // After the claim, because due times count from when the result is recorded.
    for (const [endpointId, inMs] of batch.wakeUps)
      scheduleWakeUp(endpointId, clock.now() + inMs + WAKE_GRACE_MS);
    // Endpoints are left to scan: after this claim's, or before it if it did not start at the first.
    if (cursor !== null || this.#cursor !== null || hasMore) this.#isWoken = true;
    this.#cursor = cursor;
    await this.#deliveries.sendAll(leases);
    for (const id of unserved(retryEndpoints, { leases, freeSlots })) this.#retryEndpoints.add(id);
    this.#scheduleRefill(budgets.isRateLimited);
  }

  async #runClaim(
    batch: ResultBatch,
    retryEndpoints: readonly string[],
    { byEndpoint, freeSlots }: SendBudgets & { freeSlots: number },
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
      workerCount: this.#endpoints.workerCount,
    });
    metrics.observeClaim((performance.now() - startedMs) / 1000);
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
    const ms = this.#endpoints.msUntilRefill(this.#deps.clock.elapsed()) ?? (isRateLimited ? 1 : null);
    clearTimeout(this.#refillTimer);
    if (ms !== null && !this.#stop.signal.aborted)
      this.#refillTimer = setTimeout(() => this.wake(), Math.max(1, ms));
  }
}
