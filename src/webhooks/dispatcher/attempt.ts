/** Pure functions for one attempt: build the request, and decide on the delivery and the endpoint from the result. */
import { newUuid } from "../../platform/ids.ts";
import type { EndpointState } from "./endpoint-states.ts";
import type { FinishedDelivery, Lease } from "./claim.ts";
import { stateChangeAfter, type EndpointStateChange } from "../endpoints/state-changes.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import { deliveryBody, webhookIdOf } from "../deliveries/payload.ts";
import { decideNext, type Decision } from "./retry-policy.ts";
import type { RetrySchedule } from "../../platform/retry-schedule.ts";
import type { AttemptResult, SendRequest } from "./sender.ts";

export interface AttemptContext {
  lease: Lease;
  state: EndpointState;
  result: AttemptResult;
}

export interface Resolution {
  finished: FinishedDelivery;
  stateChange: EndpointStateChange | null;
  /** Delays in milliseconds after which the endpoint has work again. */
  wakeUpDelaysMs: readonly number[];
}

/** The request for a lease, with the secrets that are active at `nowMs`. */
export function buildRequest(
  { event, eventId, isAfterRestore }: Lease,
  state: EndpointState,
  nowMs: number,
): SendRequest {
  return {
    endpoint: {
      url: state.url,
      headers: state.headers,
      secrets: state.secrets.filter(({ expiresAtMs }) => expiresAtMs > nowMs).map(({ key }) => key),
    },
    webhookId: webhookIdOf(eventId),
    redelivery: isAfterRestore ? "restore" : undefined,
    body: event === null ? "" : deliveryBody(event, state),
  };
}

/** The resolution of a lease that cannot be sent; null if it can. */
export function rejectBeforeSend(
  lease: Lease,
  state: EndpointState | undefined,
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

/** Resolves an attempt: the retry policy decides on the delivery, the circuit (on the monotonic clock) on the endpoint. */
export function resolveAttempt(
  { lease, state, result }: AttemptContext,
  { schedule, nowMs, elapsedMs }: { schedule: RetrySchedule; nowMs: number; elapsedMs: number },
): Resolution {
  const { outcome } = result;
  const decision = decideNext(outcome, { attempt: lease.attempt, schedule, random: Math.random, nowMs });
  const stateChange = stateChangeAfter(decision, lease, { window: state.circuit, nowMs: elapsedMs });
  const { status, delayMs } = nextStatus(decision);
  return {
    finished: {
      id: lease.id,
      token: lease.token,
      status,
      delayMs,
      outcome: outcome.class,
      attempt: {
        id: newUuid(nowMs),
        deliveryId: lease.id,
        number: lease.attempt,
        startedAtMs: result.startedAtMs,
        durationMs: result.durationMs,
        outcome: outcome.class,
        httpStatus: outcome.status,
        error: outcome.message,
        requestHeaders: result.requestHeaders,
        responseHeaders: result.responseHeaders,
        responseBody: result.responseBody,
      },
    },
    stateChange,
    wakeUpDelaysMs: wakeUpDelays(stateChange?.pauseMs, decision.kind === "retry" ? delayMs : undefined),
  };
}

/** When the endpoint's pause ends, and when the delivery is due if that is later. */
function wakeUpDelays(pauseMs: number | undefined, delayMs: number | undefined): number[] {
  if (pauseMs === undefined) return delayMs === undefined ? [] : [delayMs];
  return delayMs !== undefined && delayMs > pauseMs ? [pauseMs, delayMs] : [pauseMs];
}

function nextStatus(decision: Decision): Pick<FinishedDelivery, "status" | "delayMs"> {
  if (decision.kind === "retry") return { status: "pending", delayMs: decision.delayMs };
  // The delivery stays on hold with the others of the disabled endpoint.
  if (decision.kind === "disable") return { status: "pending", delayMs: 0 };
  return { status: decision.kind, delayMs: 0 };
}

function finishWithoutAttempt(
  { id, token }: Lease,
  { status, outcome, delayMs = 0 }: Pick<FinishedDelivery, "status" | "outcome"> & { delayMs?: number },
): Resolution {
  const finished: FinishedDelivery = { id, token, status, delayMs, outcome, attempt: null };
  return { finished, stateChange: null, wakeUpDelaysMs: status === "pending" ? [delayMs] : [] };
}
