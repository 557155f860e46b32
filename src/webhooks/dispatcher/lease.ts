/** A leased delivery and its result: the types that the claim, the request and the decision share. */
import type { EventRow } from "../../events/api.ts";
import type { FailureClass } from "../../core/http-client/errors.ts";
import type { ResponseHeaders } from "../../core/http-client/client.ts";

/** A delivery that this process may send until the lease expires. */
export interface Lease {
  id: string;
  token: string;
  endpointId: string;
  eventId: string;
  /** Counted from 1. */
  attempt: number;
  /** True if the delivery was pending in a restored backup, so it may have been sent before. */
  isAfterRestore: boolean;
  /** True if a previous lease expired because its worker died or was too slow. */
  isReclaimed: boolean;
  /** Null if the event no longer exists. */
  event: EventRow | null;
  /** The event's `traceparent`; null if its request was not traced. */
  traceParent: string | null;
  /** The endpoint's state at the time of the claim. */
  endpoint: {
    version: number;
    circuitStep: number | null;
    isFailing: boolean;
    /** The maximum number of deliveries that the claim could lease for the endpoint. */
    sendBudget: number;
  };
}

/** `delivered` for any 2xx status, `http_NNN` for every other one, or the class of the connection failure. */
export type OutcomeClass = "delivered" | `http_${number}` | FailureClass;

/** The outcome of a delivery's last attempt, or why none was possible. */
export type DeliveryOutcome =
  | OutcomeClass
  /** The event no longer exists. */
  | "event_missing"
  /** The worker died during every attempt. */
  | "interrupted"
  /** The endpoint's secret or headers were encrypted with another WAYMARK_SECRET. */
  | "secret_unreadable"
  /** An error on our side. */
  | "internal_error";

export interface Outcome {
  class: OutcomeClass;
  /** Null without a response. */
  status: number | null;
  /** Message for the endpoint's owner: what is wrong and how to fix it. Null if delivered. */
  message: string | null;
  /** The response's `Retry-After` header. */
  retryAfter: string | null;
}

export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  outcome: Outcome;
  /** As sent, with lower-case names and the values of custom headers masked. */
  requestHeaders: Readonly<Record<string, string>>;
  /** A selection; null without a response. */
  responseHeaders: ResponseHeaders | null;
  /** The first 4 KiB as text; null without a response. */
  responseBody: string | null;
}

/** The result of a leased delivery. `pending`: it is due again after `delayMs`. */
export interface FinishedDelivery {
  id: string;
  token: string;
  status: "pending" | "delivered" | "failed";
  delayMs: number;
  outcome: DeliveryOutcome;
  /** As stored in the log, with a `number` from 1; null if nothing was sent. */
  attempt: (AttemptResult & { id: string; deliveryId: string; number: number }) | null;
}
