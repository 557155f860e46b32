/** Leases that cannot be sent: only those that can never be sent fail. */
import { describe, expect, it } from "vitest";
import { rejectBeforeSend } from "../../../src/webhooks/dispatcher/retry-or-disable.ts";
import type { EndpointState } from "../../../src/webhooks/dispatcher/endpoint-states.ts";
import type { Lease } from "../../../src/webhooks/dispatcher/lease.ts";

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

describe("rejectBeforeSend", () => {
  it("reschedules the delivery if the endpoint could not be read", () => {
    expect(rejectBeforeSend(lease(1), undefined, schedule)).toMatchObject({
      finished: { status: "pending", delayMs: 5_000, outcome: "internal_error", attempt: null },
      wakeUpDelaysMs: [5_000],
    });
  });

  it("fails the delivery if the event no longer exists", () => {
    const state = { problem: null } as EndpointState;
    expect(rejectBeforeSend(lease(1), state, schedule)).toMatchObject({
      finished: { status: "failed", outcome: "event_missing" },
    });
  });
});
