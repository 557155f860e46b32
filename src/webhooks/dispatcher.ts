/**
 * The dispatcher: it sends what is due. It keeps one statement in flight, the turn, which records what has ended and leases
 * what is due next; meanwhile pokes and results pile up for the turn after, so turns grow with the load, and stay quick
 * without one. Any number of workers may run beside it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tracing } from "../platform/tracing.ts";
import { EndpointStates, type Allowances } from "./dispatcher.endpoints.ts";
import { Results, type Batch } from "./dispatcher.results.ts";
import { Sendings, type SendingMetrics } from "./dispatcher.sendings.ts";
import { leftOver, takeTurn, type TurnAnswer } from "./dispatcher.turn.ts";
import { applyChanges } from "./endpoint-changes.ts";
import type { TellOfTrouble } from "./endpoint.trouble.ts";
import type { Schedule } from "./retry-policy.ts";
import type { Sender } from "./sender.ts";

export interface DispatcherParts {
  database: Database;
  sender: Sender;
  box: Pick<SecretBox, "open">;
  /** Sees to it that some worker's `fallDue` is called for the endpoint once `atMs` has come. It may be lost. */
  wakeAt: (endpointId: string, atMs: number) => void;
  schedule: Schedule;
  /** Absent: nobody is told of endpoints in trouble. */
  tellOfTrouble?: TellOfTrouble | undefined;
  clock: Clock;
  logger: Logger;
  metrics: DispatcherMetrics;
  tracing?: Tracing | undefined;
}

/** What the dispatcher counts. */
export interface DispatcherMetrics extends SendingMetrics {
  /** A turn took so long. */
  turned(seconds: number): void;
}

export interface Dispatcher extends AsyncDisposable {
  /** There may be something to deliver. */
  poke(): void;
  /** Retries, a probe or an expired lease of these endpoints may be due. */
  fallDue(endpointIds: Iterable<string>): void;
  /** So many workers share the limits of each endpoint. */
  share(workers: number): void;
  /** Deliveries on their way. */
  inFlight(): number;
  /** When an attempt last ended, by the clock's `elapsed`; null: none has. */
  lastEndedMs(): number | null;
}

/** Deliveries on their way at once, over all endpoints. */
const SLOTS = 512;
/** Of the slots that come free, where both wait: the rest is for retries. */
const FIRST_SHARE = 0.8;
/** Endpoints named in one turn. */
const AGAIN_AT_ONCE = 100;
const PAUSE_MS = { least: 100, most: 5_000 } as const;
const STOP_WITHIN_MS = 20_000;
/** By so much the clocks of the timer and of PostgreSQL may differ. */
const WAKE_GRACE_MS = 5;

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  return new LeasingDispatcher(parts);
}

class LeasingDispatcher implements Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #endpoints: EndpointStates;
  readonly #results: Results;
  readonly #sendings: Sendings;
  /** Endpoints to look at for retries. */
  readonly #again = new Set<string>();
  /** Where the next turn goes on looking. */
  #cursor: string | null = null;
  #isDue = false;
  #turning: Promise<void> | null = null;
  #refill: NodeJS.Timeout | undefined;
  /** Aborted when it is to stop, and when it is to stop whatever is left. */
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#endpoints = new EndpointStates(parts);
    this.#results = new Results(parts.database, parts.logger);
    const kept = { endpoints: this.#endpoints, results: this.#results };
    this.#sendings = new Sendings({ ...parts, ...kept }, () => this.#run());
  }

  poke(): void {
    this.#isDue = true;
    this.#run();
  }

  fallDue(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.#again.add(id);
    this.poke();
  }

  share(workers: number): void {
    this.#endpoints.share(workers);
  }

  inFlight(): number {
    return this.#sendings.size;
  }

  lastEndedMs(): number | null {
    return this.#sendings.lastEndedMs;
  }

  /** Leases nothing more, waits for what is on its way and records it. What takes longer is left to its lease. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#refill);
    const giveUp = setTimeout(() => this.#giveUp.abort(), STOP_WITHIN_MS);
    const late = new Promise((resolve) => this.#giveUp.signal.addEventListener("abort", resolve));
    // A turn under way may still bring leases, which are sent: nobody else would look at them for a while.
    await this.#turning;
    await Promise.race([late, this.#sendings.ended()]);
    await this.#turning;
    clearTimeout(giveUp);
    this.#giveUp.abort();
  }

  #free(): number {
    return this.#stop.signal.aborted ? 0 : SLOTS - this.#sendings.size;
  }

  #hasWork(): boolean {
    if (this.#giveUp.signal.aborted) return false;
    return !this.#results.isEmpty() || (this.#isDue && this.#free() > 0);
  }

  #run(): void {
    if (this.#turning || !this.#hasWork()) return;
    this.#turning = this.#takeTurns().finally(() => {
      this.#turning = null;
      this.#run();
    });
  }

  async #takeTurns(): Promise<void> {
    let pauseMs: number = PAUSE_MS.least;
    while (this.#hasWork()) {
      try {
        await this.#takeTurn();
        pauseMs = PAUSE_MS.least;
      } catch (error) {
        const { message } = error as Error;
        this.#parts.logger.warn({ error: message }, "a turn of the dispatcher failed; it is tried again");
        this.#isDue = true;
        await pause(pauseMs, undefined, { signal: this.#giveUp.signal }).catch(() => undefined);
        pauseMs = Math.min(PAUSE_MS.most, pauseMs * 2);
      }
    }
  }

  async #takeTurn(): Promise<void> {
    const { clock, wakeAt } = this.#parts;
    // Between two turns: nothing that a turn has leased for is forgotten.
    this.#endpoints.forgetIdle(clock.elapsed());
    const batch = this.#results.take();
    const allowances = this.#endpoints.allowances(clock.elapsed(), this.#free() < SLOTS / 2);
    const { again, isMore } = this.#takeAgain(allowances);
    this.#isDue = false;
    const free = this.#free();
    const { leases, cursor } = await this.#ask(batch, again, { ...allowances, free }).catch(
      async (error: unknown) => {
        for (const id of again) this.#again.add(id);
        await this.#results.takeBack(batch, error);
        throw error;
      },
    );
    // Not before: what is due again counts from its record.
    for (const [endpointId, inMs] of batch.wakes) wakeAt(endpointId, clock.now() + inMs + WAKE_GRACE_MS);
    // There are endpoints left to look at: behind this turn's, or before it where it began in the middle.
    if (cursor !== null || this.#cursor !== null || isMore) this.#isDue = true;
    this.#cursor = cursor;
    await this.#sendings.start(leases);
    for (const id of leftOver(again, { leases, free })) this.#again.add(id);
    this.#refillLater(allowances.isRateShort);
  }

  async #ask(
    batch: Batch,
    again: readonly string[],
    { counts, free }: Allowances & { free: number },
  ): Promise<TurnAnswer> {
    const { database, metrics } = this.#parts;
    const startedMs = performance.now();
    // First, so that the turn does not lease for an endpoint that has just been closed.
    if (batch.changes.size > 0) await applyChanges(this.#parts, batch.changes);
    const answer = await takeTurn(database, {
      ended: batch.ended,
      free,
      // By chance where it is no whole number, so that retries get their share of few slots, too.
      firsts: again.length > 0 ? Math.floor(free * FIRST_SHARE + Math.random()) : free,
      again,
      cursor: this.#cursor,
      allowances: counts,
      workers: this.#endpoints.workers,
    });
    metrics.turned((performance.now() - startedMs) / 1000);
    return answer;
  }

  /** Those that may have something now. Who falls due while the turn is under way is for the turn after. */
  #takeAgain({ counts }: Allowances): { again: string[]; isMore: boolean } {
    const able = [...this.#again].filter((id) => counts.get(id) !== 0);
    const again = this.#free() > 0 ? able.slice(0, AGAIN_AT_ONCE) : [];
    for (const id of again) this.#again.delete(id);
    return { again, isMore: able.length > again.length };
  }

  /** Rates are finer than the scheduler's seconds: it is looked again when the first endpoint may be sent to again. */
  #refillLater(isRateShort: boolean): void {
    const ms = this.#endpoints.msUntilRefill(this.#parts.clock.elapsed()) ?? (isRateShort ? 1 : null);
    clearTimeout(this.#refill);
    if (ms !== null && !this.#stop.signal.aborted)
      this.#refill = setTimeout(() => this.poke(), Math.max(1, ms));
  }
}
