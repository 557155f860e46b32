/** What came of one attempt, in the words that the log, the retry policy and the API share. */
import type { FailureClass } from "../../platform/http-client/errors.ts";

/** `delivered` for any 2xx, `http_NNN` for every other answer, and otherwise where the attempt broke off. */
export type OutcomeClass = "delivered" | `http_${number}` | FailureClass;

/** How a delivery's last attempt ended, or why none could be made. */
export type DeliveryOutcome =
  | OutcomeClass
  /** Its event is gone. */
  | "event_missing"
  /** Whoever was sending it died, at every attempt. */
  | "interrupted"
  /** The endpoint's secret was sealed with another WAYMARK_SECRET. */
  | "secret_unreadable"
  /** A defect of ours. */
  | "internal_error";

export interface Outcome {
  class: OutcomeClass;
  /** Null where no answer came. */
  status: number | null;
  /** For the endpoint's owner: what is wrong, and what would be right. Null when delivered. */
  message: string | null;
  /** The answer's `Retry-After`, as it was sent. */
  retryAfter: string | null;
  /** The answer's `Location`, which is shown and never followed. */
  location: string | null;
}
