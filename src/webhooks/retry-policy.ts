/** When Waymark retries and disables: of live endpoints, and of test endpoints, where it all takes at most two minutes. */
import type { OrganizationMode } from "../organizations/api.ts";
import type { RetrySchedule } from "../core/retry-schedule.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/time.ts";

/** An endpoint is disabled after a period without success, if two events failed far enough apart. */
export interface DisableRule {
  afterMs: number;
  /** At least two events must fail this far apart, so that neither one bad event nor one bad hour disables an endpoint. */
  spreadMs: number;
}

export const disableRules: Readonly<Record<OrganizationMode, DisableRule>> = {
  live: { afterMs: 5 * DAY_MS, spreadMs: 12 * HOUR_MS },
  // After the ten attempts, so that deliveries are seen to fail first.
  test: { afterMs: 75 * SECOND_MS, spreadMs: 10 * SECOND_MS },
};

export interface RetryPolicy {
  schedule: RetrySchedule;
  /** Longer values of `Retry-After` are cut to this. */
  maxRetryAfterMs: number;
  /** Whether a circuit opens after many failures. */
  hasCircuit: boolean;
}

/** By the mode of the endpoint's organisation. */
export type RetryPolicies = Readonly<Record<OrganizationMode, RetryPolicy>>;

/** `liveSchedule` is WEBHOOK_RETRY_SCHEDULE. */
export function retryPolicies(liveSchedule: RetrySchedule): RetryPolicies {
  return {
    live: {
      schedule: liveSchedule,
      maxRetryAfterMs: DAY_MS,
      hasCircuit: true,
    },
    test: {
      // 37 s. With jitter, and up to 1.5 s until a due attempt starts, less than a minute.
      schedule: [0, 1, 1, 2, 3, 4, 5, 6, 7, 8].map((seconds) => seconds * SECOND_MS),
      maxRetryAfterMs: 5 * SECOND_MS,
      // With probes of one delivery at a time, no delivery would fail before the endpoint is disabled.
      hasCircuit: false,
    },
  };
}
