/** What becomes of a lease that cannot be sent: only what can never be sent is given up. */
import { describe, expect, it } from "vitest";
import { rejectBeforeSend } from "../../src/webhooks/dispatcher/attempt.ts";
import type { EndpointState } from "../../src/webhooks/dispatcher/endpoint-states.ts";
import type { Lease } from "../../src/webhooks/dispatcher/claim.ts";

const schedule = [0, 5_000, 300_000];
const lease = (attempt: number): Lease => ({
  id: "01a1fee6-a862-7660-b794-8bdf9eede54e",
  token: "01a1fee6-a862-7660-b794-8bdf9eede54f",
  endpointId: "01a1fee6-a85d-7918-8c9b-d14d34db6ad0",
  eventId: "01a1fee6-a85e-72f7-8a98-d97c00000000",
  attempt,
  isAfterRestore: false,
  isReclaimed: false,
  event: null,
  traceParent: null,
  endpoint: { version: 1, circuitStep: null, isFailing: false, sendBudget: 2 },
});

describe("unsendable", () => {
  it("tries again on schedule where the endpoint could not be read, and never calls the event missing", () => {
    expect(rejectBeforeSend(lease(1), undefined, schedule)).toMatchObject({
      finished: { status: "pending", delayMs: 5_000, outcome: "internal_error", attempt: null },
      wakeUpDelaysMs: [5_000],
    });
  });

  it("gives up where the event is gone", () => {
    const state = { problem: null } as EndpointState;
    expect(rejectBeforeSend(lease(1), state, schedule)).toMatchObject({
      finished: { status: "failed", outcome: "event_missing" },
    });
  });
});
