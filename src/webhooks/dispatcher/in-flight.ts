/** Sends leased deliveries and adds the result of each to the buffer. */
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Tracing } from "../../platform/tracing/tracing.ts";
import { traceDelivery } from "./tracing.ts";
import { buildRequest, rescheduleWithoutAttempt, resolveAttempt, rejectBeforeSend } from "./attempt.ts";
import type { EndpointState, EndpointStates } from "./endpoint-states.ts";
import type { ResultBuffer } from "./result-buffer.ts";
import type { Lease } from "./claim.ts";
import type { RetrySchedule } from "../../platform/retry-schedule.ts";
import type { AttemptResult, Sender, SendRequest } from "./sender.ts";

export interface InFlightDeps {
  endpoints: EndpointStates;
  results: ResultBuffer;
  sender: Sender;
  schedule: RetrySchedule;
  clock: Clock;
  logger: Logger;
  metrics: AttemptMetrics;
  tracing?: Tracing | undefined;
}

export interface AttemptMetrics {
  observeAttempt(outcome: string, seconds: number): void;
  /** Counts leases that had expired in another worker. */
  countReclaimed(count: number): void;
}

export class InFlightDeliveries {
  readonly #deps: InFlightDeps;
  readonly #onFinished: () => void;
  readonly #sends = new Set<Promise<void>>();
  #lastFinishedMs: number | null = null;

  /** `onFinished` is called after each delivery, when its result is in the buffer. */
  constructor(deps: InFlightDeps, onFinished: () => void) {
    this.#deps = deps;
    this.#onFinished = onFinished;
  }

  get size(): number {
    return this.#sends.size;
  }

  /** When the last attempt finished, by the clock's `elapsed`; null before the first. */
  get lastFinishedMs(): number | null {
    return this.#lastFinishedMs;
  }

  /** Resolves when all deliveries that are now in flight have finished. */
  async drained(): Promise<void> {
    await Promise.all(this.#sends);
  }

  /** Resolves when all requests have been started. */
  async sendAll(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const { clock, endpoints, logger, metrics, results, schedule } = this.#deps;
    const versions = new Map(leases.map(({ endpointId, endpoint }) => [endpointId, endpoint.version]));
    // On failure the deliveries are rescheduled below.
    await endpoints.load(versions, clock.elapsed()).catch((error: unknown) => {
      logger.warn({ error: (error as Error).message }, "loading webhook endpoints failed");
    });
    metrics.countReclaimed(leases.filter((lease) => lease.isReclaimed).length);
    for (const lease of leases) {
      const state = endpoints.get(lease.endpointId);
      const rejection = rejectBeforeSend(lease, state, schedule);
      if (rejection) results.add(lease.endpointId, rejection);
      else if (state) this.#send(lease, state);
    }
  }

  #send(lease: Lease, state: EndpointState): void {
    const request = this.#buildRequest(lease, state);
    if (!request) return;
    state.inFlight += 1;
    state.bucket.take(this.#deps.clock.elapsed());
    // Drop the event, which the body replaces, to save memory until the response arrives.
    const sending = this.#deliver({ ...lease, event: null }, state, request).finally(() => {
      state.inFlight -= 1;
      this.#sends.delete(sending);
      this.#onFinished();
    });
    this.#sends.add(sending);
  }

  /** Returns null and records the defect if the request cannot be built. */
  #buildRequest(lease: Lease, state: EndpointState): SendRequest | null {
    try {
      return buildRequest(lease, state, this.#deps.clock.now());
    } catch (error) {
      this.#onDefect(lease, error);
      return null;
    }
  }

  async #deliver(lease: Lease, state: EndpointState, request: SendRequest): Promise<void> {
    const { clock, endpoints, metrics, results, schedule, sender, tracing } = this.#deps;
    try {
      const send = (): Promise<AttemptResult> => sender.send(request);
      const result = await (tracing ? traceDelivery(tracing, lease, send) : send());
      this.#lastFinishedMs = clock.elapsed();
      metrics.observeAttempt(result.outcome.class, result.durationMs / 1000);
      endpoints.recordResult(state, result.outcome.class === "delivered", result.durationMs);
      const resolution = resolveAttempt(
        { lease, state, result },
        { schedule, nowMs: clock.now(), elapsedMs: this.#lastFinishedMs },
      );
      results.add(lease.endpointId, resolution);
    } catch (error) {
      this.#onDefect(lease, error);
    }
  }

  /** For errors on our side, never the receiver's. The delivery loses one attempt. */
  #onDefect(lease: Lease, error: unknown): void {
    const { logger, results, schedule } = this.#deps;
    logger.error({ delivery: lease.id, error: (error as Error).message }, "sending a delivery failed");
    results.add(lease.endpointId, rescheduleWithoutAttempt(lease, "internal_error", schedule));
  }
}
