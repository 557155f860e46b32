/** One leased delivery: what is sent for it, and what follows from how that went. Nothing here waits or remembers. */
import { newUuid } from "../platform/ids.ts";
import type { EndpointState } from "./dispatcher.endpoints.ts";
import type { Ended, Lease } from "./dispatcher.turn.ts";
import { changeAfter, type EndpointChange } from "./endpoint-changes.ts";
import type { DeliveryOutcome } from "./outcome.ts";
import { deliveryBody, webhookIdOf } from "./payload.ts";
import { decide, type Decision, type Schedule } from "./retry-policy.ts";
import type { AttemptResult, SendRequest } from "./sender.ts";

export interface Sent {
  lease: Lease;
  state: EndpointState;
  result: AttemptResult;
}

export interface Settled {
  ended: Ended;
  change: EndpointChange | null;
  /** In so many milliseconds the endpoint is to be looked at again. */
  wakesInMs: readonly number[];
}

/** The request of a lease; its signature is made at `nowMs`. */
export function attemptOf(
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
export function unsendable(
  lease: Lease,
  state: EndpointState | undefined,
  schedule: Schedule,
): Settled | null {
  // It could not be read: that says nothing of the delivery.
  if (!state) return laterWithoutAttempt(lease, "internal_error", schedule);
  if (lease.event === null) return withoutAttempt(lease, { status: "dead", outcome: "event_missing" });
  // Each attempt was begun, and no end of the last one was ever recorded: its sender died every time.
  if (lease.attempt > schedule.length)
    return withoutAttempt(lease, { status: "dead", outcome: "interrupted" });
  return state.problem === null ? null : laterWithoutAttempt(lease, "secret_unreadable", schedule);
}

/** Nothing could be sent, through no fault of the receiver: it is tried again on schedule. */
export function laterWithoutAttempt(lease: Lease, outcome: DeliveryOutcome, schedule: Schedule): Settled {
  const delayMs = schedule[lease.attempt];
  return delayMs === undefined
    ? withoutAttempt(lease, { status: "dead", outcome })
    : withoutAttempt(lease, { status: "pending", outcome, delayMs });
}

/** What follows from an attempt: by the policy for the delivery, by the circuit, on the clock that only goes on, for the endpoint. */
export function settle(
  { lease, state, result }: Sent,
  { schedule, nowMs, elapsedMs }: { schedule: Schedule; nowMs: number; elapsedMs: number },
): Settled {
  const { outcome } = result;
  const decision = decide(outcome, { attempt: lease.attempt, schedule, random: Math.random, nowMs });
  const change = changeAfter(decision, lease, { window: state.window, nowMs: elapsedMs });
  const { status, delayMs } = followUp(decision);
  return {
    ended: {
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
    change,
    wakesInMs: wakesAfter(change?.quietMs, decision.kind === "retry" ? delayMs : undefined),
  };
}

/** When the endpoint's quiet is over, and when the delivery is due if that is later. */
function wakesAfter(quietMs: number | undefined, delayMs: number | undefined): number[] {
  if (quietMs === undefined) return delayMs === undefined ? [] : [delayMs];
  return delayMs !== undefined && delayMs > quietMs ? [quietMs, delayMs] : [quietMs];
}

function followUp(decision: Decision): Pick<Ended, "status" | "delayMs"> {
  if (decision.kind === "retry") return { status: "pending", delayMs: decision.delayMs };
  // A disabled endpoint's deliveries wait for it, this one among them.
  if (decision.kind === "disable") return { status: "pending", delayMs: 0 };
  return { status: decision.kind, delayMs: 0 };
}

function withoutAttempt(
  { id, token }: Lease,
  { status, outcome, delayMs = 0 }: Pick<Ended, "status" | "outcome"> & { delayMs?: number },
): Settled {
  const ended: Ended = { id, token, status, delayMs, outcome, attempt: null };
  return { ended, change: null, wakesInMs: status === "pending" ? [delayMs] : [] };
}
