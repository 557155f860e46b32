/** Outcomes of attempts, shared by the log, the retry policy and the API. */
import type { FailureClass } from "../../platform/http-client/errors.ts";

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
  /** The response's `Location` header, which is never followed. */
  location: string | null;
}
