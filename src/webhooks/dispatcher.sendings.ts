/** What a dispatcher has leased and is sending: each ends in a result. */
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { Tracing } from "../platform/tracing.ts";
import { traceDelivery } from "./delivery.trace.ts";
import { attemptOf, laterWithoutAttempt, settle, unsendable } from "./dispatcher.attempt.ts";
import type { EndpointState, EndpointStates } from "./dispatcher.endpoints.ts";
import type { Results } from "./dispatcher.results.ts";
import type { Lease } from "./dispatcher.turn.ts";
import type { Schedule } from "./retry-policy.ts";
import type { AttemptResult, Sender, SendRequest } from "./sender.ts";

export interface SendingsParts {
  endpoints: EndpointStates;
  results: Results;
  sender: Sender;
  schedule: Schedule;
  clock: Clock;
  logger: Logger;
  metrics: SendingMetrics;
  tracing?: Tracing | undefined;
}

export interface SendingMetrics {
  /** An attempt ended so, after so long. */
  attempted(outcome: string, seconds: number): void;
  /** Leases that others had let run out. */
  reclaimed(count: number): void;
}

export class Sendings {
  readonly #parts: SendingsParts;
  readonly #onEnd: () => void;
  readonly #underWay = new Set<Promise<void>>();
  #lastEndedMs: number | null = null;

  /** `onEnd` is called after each, when its result is there. */
  constructor(parts: SendingsParts, onEnd: () => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** When an attempt last ended, by the clock's `elapsed`; null: none has. */
  get lastEndedMs(): number | null {
    return this.#lastEndedMs;
  }

  /** Resolves when those that are under way now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Answers once all of them are on their way. */
  async start(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const { clock, endpoints, logger, metrics, results, schedule } = this.#parts;
    const wanted = new Map(leases.map(({ endpointId, endpoint }) => [endpointId, endpoint.version]));
    // They are leased all the same: what cannot be read now is tried again on schedule.
    await endpoints.load(wanted, clock.elapsed()).catch((error: unknown) => {
      logger.warn({ error: (error as Error).message }, "endpoints could not be read");
    });
    metrics.reclaimed(leases.filter((lease) => lease.isReclaimed).length);
    for (const lease of leases) {
      const state = endpoints.get(lease.endpointId);
      const problem = unsendable(lease, state, schedule);
      if (problem) results.add(lease.endpointId, problem);
      else if (state) this.#send(lease, state);
    }
  }

  #send(lease: Lease, state: EndpointState): void {
    const attempt = this.#attemptOf(lease, state);
    if (!attempt) return;
    state.inFlight += 1;
    state.bucket.take(this.#parts.clock.elapsed());
    // The event has become the body: nobody needs to hold both until the answer is there.
    const sending = this.#deliver({ ...lease, event: null }, state, attempt).finally(() => {
      state.inFlight -= 1;
      this.#underWay.delete(sending);
      this.#onEnd();
    });
    this.#underWay.add(sending);
  }

  /** Null, and said so, where none can be made of it. */
  #attemptOf(lease: Lease, state: EndpointState): SendRequest | null {
    try {
      return attemptOf(lease, state, this.#parts.clock.now());
    } catch (error) {
      this.#failed(lease, error);
      return null;
    }
  }

  async #deliver(lease: Lease, state: EndpointState, attempt: SendRequest): Promise<void> {
    const { clock, endpoints, metrics, results, schedule, sender, tracing } = this.#parts;
    try {
      const sending = (): Promise<AttemptResult> => sender.send(attempt);
      const result = await (tracing ? traceDelivery(tracing, lease, sending) : sending());
      this.#lastEndedMs = clock.elapsed();
      metrics.attempted(result.outcome.class, result.durationMs / 1000);
      endpoints.learn(state, result.outcome.class === "delivered", result.durationMs);
      const settled = settle(
        { lease, state, result },
        { schedule, nowMs: clock.now(), elapsedMs: this.#lastEndedMs },
      );
      results.add(lease.endpointId, settled);
    } catch (error) {
      this.#failed(lease, error);
    }
  }

  /** Whatever a receiver does is a result: this is a defect of ours, and costs the delivery an attempt. */
  #failed(lease: Lease, error: unknown): void {
    const { logger, results, schedule } = this.#parts;
    logger.error(
      { delivery: lease.id, error: (error as Error).message },
      "a delivery could not be attempted",
    );
    results.add(lease.endpointId, laterWithoutAttempt(lease, "internal_error", schedule));
  }
}
