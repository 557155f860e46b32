/** One leased delivery: what is sent for it, and what follows from how that went. Nothing here waits or remembers. */
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
  /** In so many milliseconds the endpoint is to be looked at again. */
  wakeUpDelaysMs: readonly number[];
}

/** The request of a lease; its signature is made at `nowMs`. */
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

/** What becomes of a lease that cannot be sent; null: it can. */
export function rejectBeforeSend(
  lease: Lease,
  state: EndpointState | undefined,
  schedule: RetrySchedule,
): Resolution | null {
  // It could not be read: that says nothing of the delivery.
  if (!state) return rescheduleWithoutAttempt(lease, "internal_error", schedule);
  if (lease.event === null) return finishWithoutAttempt(lease, { status: "dead", outcome: "event_missing" });
  // Each attempt was begun, and no end of the last one was ever recorded: its sender died every time.
  if (lease.attempt > schedule.length)
    return finishWithoutAttempt(lease, { status: "dead", outcome: "interrupted" });
  return state.problem === null ? null : rescheduleWithoutAttempt(lease, "secret_unreadable", schedule);
}

/** Nothing could be sent, through no fault of the receiver: it is tried again on schedule. */
export function rescheduleWithoutAttempt(
  lease: Lease,
  outcome: DeliveryOutcome,
  schedule: RetrySchedule,
): Resolution {
  const delayMs = schedule[lease.attempt];
  return delayMs === undefined
    ? finishWithoutAttempt(lease, { status: "dead", outcome })
    : finishWithoutAttempt(lease, { status: "pending", outcome, delayMs });
}

/** What follows from an attempt: by the policy for the delivery, by the circuit, on the clock that only goes on, for the endpoint. */
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

/** When the endpoint's quiet is over, and when the delivery is due if that is later. */
function wakeUpDelays(pauseMs: number | undefined, delayMs: number | undefined): number[] {
  if (pauseMs === undefined) return delayMs === undefined ? [] : [delayMs];
  return delayMs !== undefined && delayMs > pauseMs ? [pauseMs, delayMs] : [pauseMs];
}

function nextStatus(decision: Decision): Pick<FinishedDelivery, "status" | "delayMs"> {
  if (decision.kind === "retry") return { status: "pending", delayMs: decision.delayMs };
  // A disabled endpoint's deliveries wait for it, this one among them.
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
