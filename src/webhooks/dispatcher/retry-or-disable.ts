/**
 * What follows from a lease, without I/O. For the delivery: delivered, retried, failed, or on hold because 410 Gone disables the
 * endpoint. For the endpoint: failing, recovered, paused by Retry-After, circuit opened or closed, disabled.
 */
import { newUuid } from "../../core/ids.ts";
import { JITTER, type RetrySchedule } from "../../core/retry-schedule.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { DisabledReason } from "../endpoints/entity.ts";
import type { RetryPolicy } from "../retry-policy.ts";
import type { AttemptResult, DeliveryOutcome, FinishedDelivery, Lease, Outcome } from "./lease.ts";

/** What follows from a lease. The dispatcher records it with its next claim. */
export interface Resolution {
  finished: FinishedDelivery;
  stateChange: EndpointStateChange | null;
  /** Delays in milliseconds after which the endpoint has work again. */
  wakeUpDelaysMs: readonly number[];
}

/** The resolution of a lease that cannot be sent; null if it can. */
export function rejectBeforeSend(
  lease: Lease,
  state: { problem: string | null } | undefined,
  schedule: RetrySchedule,
): Resolution | null {
  // The endpoint could not be read, which is no fault of the delivery.
  if (!state) return rescheduleWithoutAttempt(lease, "internal_error", schedule);
  if (lease.event === null)
    return finishWithoutAttempt(lease, { status: "failed", outcome: "event_missing" });
  // All attempts were started, but the last one has no result: its worker died.
  if (lease.attempt > schedule.length)
    return finishWithoutAttempt(lease, { status: "failed", outcome: "interrupted" });
  return state.problem === null ? null : rescheduleWithoutAttempt(lease, "secret_unreadable", schedule);
}

/** Resolves an attempt: the retry policy decides on the delivery, the circuit (on the monotonic clock) on the endpoint. */
export function resolveAttempt(
  lease: Lease,
  { circuit, result }: { circuit: CircuitWindow; result: AttemptResult },
  { policy, nowMs, elapsedMs }: { policy: RetryPolicy; nowMs: number; elapsedMs: number },
): Resolution {
  const { outcome } = result;
  const decision = decideNext(outcome, { attempt: lease.attempt, policy, random: Math.random, nowMs });
  const stateChange = endpointChangeAfter(decision, lease, { window: circuit, nowMs: elapsedMs, policy });
  const retryMs = decision.kind === "retry" ? decision.delayMs : undefined;
  return {
    finished: {
      id: lease.id,
      token: lease.token,
      // The delivery stays on hold with the others of an endpoint that is disabled.
      status: decision.kind === "retry" || decision.kind === "disable" ? "pending" : decision.kind,
      delayMs: retryMs ?? 0,
      outcome: outcome.class,
      attempt: { ...result, id: newUuid(nowMs), deliveryId: lease.id, number: lease.attempt },
    },
    stateChange,
    wakeUpDelaysMs: wakeUpDelays(stateChange?.pauseMs, retryMs),
  };
}

/** When the endpoint's pause ends, and when the delivery is due if that is later. */
function wakeUpDelays(pauseMs: number | undefined, delayMs: number | undefined): number[] {
  if (pauseMs === undefined) return delayMs === undefined ? [] : [delayMs];
  return delayMs !== undefined && delayMs > pauseMs ? [pauseMs, delayMs] : [pauseMs];
}

/** Reschedules a delivery that could not be sent for a reason on our side. It fails after the last attempt. */
export function rescheduleWithoutAttempt(
  lease: Lease,
  outcome: DeliveryOutcome,
  schedule: RetrySchedule,
): Resolution {
  const delayMs = schedule[lease.attempt];
  return delayMs === undefined
    ? finishWithoutAttempt(lease, { status: "failed", outcome })
    : finishWithoutAttempt(lease, { status: "pending", outcome, delayMs });
}

function finishWithoutAttempt(
  { id, token }: Lease,
  { status, outcome, delayMs = 0 }: Pick<FinishedDelivery, "status" | "outcome"> & { delayMs?: number },
): Resolution {
  const finished: FinishedDelivery = { id, token, status, delayMs, outcome, attempt: null };
  return { finished, stateChange: null, wakeUpDelaysMs: status === "pending" ? [delayMs] : [] };
}

interface RetryPolicyInput {
  /** The attempt that just finished, counted from 1. */
  attempt: number;
  policy: Pick<RetryPolicy, "schedule" | "maxRetryAfterMs">;
  /** Returns a number from 0 (inclusive) to 1 (exclusive), like `Math.random`. */
  random: () => number;
  nowMs: number;
}

export type Decision =
  | { kind: "delivered" }
  /** `pauseEndpointMs`: send nothing to the endpoint for this time, because the receiver asked for it. */
  | { kind: "retry"; delayMs: number; pauseEndpointMs?: number }
  | { kind: "failed"; pauseEndpointMs?: number }
  | { kind: "disable"; reason: "gone" };

/**
 * Decides what follows from an outcome. `Retry-After` counts for 429 and 503 only, and can only lengthen the scheduled delay:
 * with `Retry-After: 1`, all attempts would otherwise be used up within seconds.
 */
export function decideNext(outcome: Outcome, { attempt, policy, random, nowMs }: RetryPolicyInput): Decision {
  if (outcome.class === "delivered") return { kind: "delivered" };
  if (outcome.status === 410) return { kind: "disable", reason: "gone" };

  const honoursRetryAfter = outcome.status === 429 || outcome.status === 503;
  const pauseMs = honoursRetryAfter
    ? parseRetryAfter(outcome.retryAfter, nowMs, policy.maxRetryAfterMs)
    : null;
  const endpointPause = pauseMs === null ? {} : { pauseEndpointMs: pauseMs };
  const scheduledMs = policy.schedule[attempt];
  if (scheduledMs === undefined) return { kind: "failed", ...endpointPause };

  const delayMs = Math.round(scheduledMs * (1 - JITTER + 2 * JITTER * random()));
  return { kind: "retry", delayMs: Math.max(delayMs, pauseMs ?? 0), ...endpointPause };
}

/** Parses `Retry-After` (seconds or HTTP date) to milliseconds from now, at most `maxMs`; null if invalid or not in the future. */
export function parseRetryAfter(text: string | null, nowMs: number, maxMs: number): number | null {
  const value = text?.trim() ?? "";
  const waitMs = /^\d+$/.test(value) ? Number(value) * SECOND_MS : parseHttpDate(value) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, maxMs) : null;
}

const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
/** The date formats of RFC 9110, section 5.6.7: the current one and two obsolete ones. */
const HTTP_DATE = new RegExp(`^[A-Z][a-z]{2}, \\d{2} ${MONTH} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`);
const RFC_850_DATE = new RegExp(`^[A-Z][a-z]{5,8}, \\d{2}-${MONTH}-\\d{2} \\d{2}:\\d{2}:\\d{2} GMT$`);
const ASCTIME_DATE = new RegExp(`^[A-Z][a-z]{2} ${MONTH} [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`);

/** Milliseconds since 1970; NaN if invalid. */
function parseHttpDate(text: string): number {
  if (HTTP_DATE.test(text) || RFC_850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** Absent properties keep their value. */
export interface EndpointStateChange {
  /** The endpoint's version at the attempt. The change is dropped if the endpoint was updated or resumed since. */
  version: number;
  isFailing?: boolean;
  /** Send nothing for this time. */
  pauseMs?: number;
  /** `step` opens the circuit and is the number of failed probes; null closes it. */
  circuit?: { step: number } | null;
  disabledReason?: DisabledReason;
  /** A delivery has failed four times; alert the owners. */
  needsAlert?: true;
}

/** The fourth attempt of a live delivery is more than half an hour after the first, so it is not a short outage. */
const ALERT_AFTER_ATTEMPTS = 4;

/** Counts the attempt in `window` and returns the change to the endpoint; null if there is none. */
function endpointChangeAfter(
  decision: Decision,
  { endpoint: leased, attempt }: Pick<Lease, "attempt" | "endpoint">,
  { window, nowMs, policy }: { window: CircuitWindow; nowMs: number; policy: RetryPolicy },
): EndpointStateChange | null {
  const change: EndpointStateChange = { version: leased.version };
  const succeeded = decision.kind === "delivered";
  if (succeeded === leased.isFailing) change.isFailing = !succeeded;
  if (decision.kind === "disable") change.disabledReason = decision.reason;
  if (!succeeded && attempt === ALERT_AFTER_ATTEMPTS) change.needsAlert = true;
  if ("pauseEndpointMs" in decision) change.pauseMs = decision.pauseEndpointMs;

  const shouldOpen = window.record(succeeded, nowMs);
  const isProbe = leased.circuitStep !== null;
  if (isProbe || (shouldOpen && policy.hasCircuit)) {
    window.reset();
    const step = leased.circuitStep === null ? 0 : leased.circuitStep + 1;
    change.circuit = succeeded ? null : { step };
    if (!succeeded) change.pauseMs = Math.max(change.pauseMs ?? 0, probeDelayMs(step));
  }
  return Object.keys(change).length > 1 ? change : null;
}

const MAX_CONSECUTIVE_FAILURES = 10;
const MAX_FAILURE_RATIO = 0.7;
const MIN_ATTEMPTS = 10;
const SLOT_MS = 10_000;
const SLOT_COUNT = 30; // of 10 s: five minutes

/**
 * Counts one endpoint's attempts of the last five minutes in this process, to decide when its circuit opens. It counts in slots
 * of ten seconds, so that the memory does not depend on the traffic.
 */
export class CircuitWindow {
  readonly #attempts = new Uint32Array(SLOT_COUNT);
  readonly #failures = new Uint32Array(SLOT_COUNT);
  #totalAttempts = 0;
  #totalFailures = 0;
  #consecutiveFailures = 0;
  #currentSlot = 0;

  /** Counts a finished attempt. Returns true if the circuit should open. */
  record(succeeded: boolean, nowMs: number): boolean {
    this.#advanceTo(Math.floor(nowMs / SLOT_MS));
    const slot = this.#currentSlot % SLOT_COUNT;
    this.#attempts[slot] = (this.#attempts[slot] ?? 0) + 1;
    this.#totalAttempts += 1;
    this.#consecutiveFailures = succeeded ? 0 : this.#consecutiveFailures + 1;
    if (succeeded) return false;
    this.#failures[slot] = (this.#failures[slot] ?? 0) + 1;
    this.#totalFailures += 1;
    const isRatioExceeded =
      this.#totalAttempts >= MIN_ATTEMPTS && this.#totalFailures >= MAX_FAILURE_RATIO * this.#totalAttempts;
    return this.#consecutiveFailures >= MAX_CONSECUTIVE_FAILURES || isRatioExceeded;
  }

  /** True if nothing was counted in the last five minutes. */
  isEmpty(nowMs: number): boolean {
    this.#advanceTo(Math.floor(nowMs / SLOT_MS));
    return this.#totalAttempts === 0;
  }

  /** Clears the counts after the circuit has opened or closed. */
  reset(): void {
    for (let slot = 0; slot < SLOT_COUNT; slot += 1) this.#clearSlot(slot);
    this.#consecutiveFailures = 0;
  }

  #advanceTo(slot: number): void {
    const elapsedSlots = Math.min(SLOT_COUNT, slot - this.#currentSlot);
    for (let step = 1; step <= elapsedSlots; step += 1)
      this.#clearSlot((this.#currentSlot + step) % SLOT_COUNT);
    // If the clock was set back, keep counting in the latest slot.
    this.#currentSlot = Math.max(this.#currentSlot, slot);
  }

  #clearSlot(slot: number): void {
    this.#totalAttempts -= this.#attempts[slot] ?? 0;
    this.#totalFailures -= this.#failures[slot] ?? 0;
    this.#attempts[slot] = this.#failures[slot] = 0;
  }
}

const MIN_PROBE_DELAY_MS = 30 * SECOND_MS;
const MAX_PROBE_DELAY_MS = 15 * MINUTE_MS;

/** The delay before probe number `step`, counted from 0: 30 s, then 1, 2, 4, 8 and 15 minutes. */
export function probeDelayMs(step: number): number {
  return Math.min(MAX_PROBE_DELAY_MS, MIN_PROBE_DELAY_MS * 2 ** step);
}

/** Merges two changes of one endpoint. Changes of different versions are not merged: the later one wins. */
export function mergeStateChanges(
  earlier: EndpointStateChange | undefined,
  later: EndpointStateChange,
): EndpointStateChange {
  if (!earlier || earlier.version !== later.version) return later;
  const pauseMs = Math.max(earlier.pauseMs ?? 0, later.pauseMs ?? 0);
  return { ...earlier, ...later, ...(pauseMs > 0 && { pauseMs }) };
}
