import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideNext,
  parseRetryAfter,
  type Decision,
} from "../../../src/webhooks/dispatcher/retry-or-disable.ts";
import type { Outcome } from "../../../src/webhooks/dispatcher/lease.ts";
import {
  DEFAULT_SCHEDULE_TEXT,
  JITTER,
  longestScheduleMs,
  parseSchedule,
  type RetrySchedule,
} from "../../../src/core/retry-schedule.ts";
import { disableRules, retryPolicies } from "../../../src/webhooks/retry-policy.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../support/fake-clock.ts";

const schedule = parseSchedule(DEFAULT_SCHEDULE_TEXT) as RetrySchedule;
const { live: policy, test } = retryPolicies(schedule);
const nowMs = Date.parse("2026-11-21T12:00:00Z");

const answered = (status: number, retryAfter: string | null = null): Outcome => ({
  class: status >= 200 && status < 300 ? "delivered" : `http_${status}`,
  status,
  message: null,
  retryAfter,
});
const failed = (failureClass: Outcome["class"]): Outcome => ({
  class: failureClass,
  status: null,
  message: "…",
  retryAfter: null,
});
const after = (outcome: Outcome, attempt = 1, random = 0.5): Decision =>
  decideNext(outcome, { attempt, policy, random: () => random, nowMs });

describe("decideNext", () => {
  it.each([200, 299])("%i is delivered", (status) => {
    expect(after(answered(status))).toEqual({ kind: "delivered" });
  });

  it("410 disables the endpoint, at any attempt", () => {
    expect(after(answered(410))).toEqual({ kind: "disable", reason: "gone" });
    expect(after(answered(410), 10)).toEqual({ kind: "disable", reason: "gone" });
  });

  it.each([300, 400, 404, 429, 500, 503, 999])("%i is retried on schedule", (status) => {
    expect(after(answered(status))).toEqual({ kind: "retry", delayMs: 5 * SECOND_MS });
  });

  it.each(["dns", "timeout", "blocked_address"] as const)("%s is retried on schedule", (failureClass) => {
    expect(after(failed(failureClass), 2)).toEqual({ kind: "retry", delayMs: 5 * MINUTE_MS });
  });

  it("follows the schedule, then the delivery fails", () => {
    const delays = Array.from({ length: 10 }, (_, at) => {
      const decision = after(answered(500), at + 1);
      return decision.kind === "retry" ? decision.delayMs : decision.kind;
    });
    expect(delays).toEqual([
      5 * SECOND_MS,
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      2 * HOUR_MS,
      5 * HOUR_MS,
      10 * HOUR_MS,
      14 * HOUR_MS,
      20 * HOUR_MS,
      24 * HOUR_MS,
      "failed",
    ]);
  });

  it.each([
    [0, 0.8],
    [0.5, 1],
    [0.999_999, 1.2],
  ])("varies the delay by at most 20 %: %f", (random, factor) => {
    const decision = after(answered(500), 3, random);
    expect(decision).toMatchObject({ delayMs: expect.closeTo(30 * MINUTE_MS * factor, -1) });
  });

  it.each([429, 503])("%i with Retry-After pauses delivery and endpoint for exactly that time", (status) => {
    const delayMs = 2 * MINUTE_MS;
    const expected = { kind: "retry", delayMs, pauseEndpointMs: delayMs };
    expect(after(answered(status, "120"), 1, 0.9)).toEqual(expected);
  });

  it.each<[string, Outcome, number[], attempt?: number]>([
    ["429: never retries earlier than the schedule", answered(429, "1"), [30 * MINUTE_MS, SECOND_MS], 3],
    ["503: is cut to a day", answered(503, "9999999"), [DAY_MS, DAY_MS]],
    ["500: is ignored", answered(500, "3600"), [5 * SECOND_MS]],
    ["301: is ignored", answered(301, "3600"), [5 * SECOND_MS]],
  ])("Retry-After with %s", (_what, outcome, [delayMs, pauseEndpointMs], attempt = 1) => {
    const pause = pauseEndpointMs !== undefined && { pauseEndpointMs };
    expect(after(outcome, attempt)).toEqual({ kind: "retry", delayMs, ...pause });
  });

  it("pauses the endpoint after the last attempt too", () => {
    expect(after(answered(503, "60"), 10)).toEqual({ kind: "failed", pauseEndpointMs: MINUTE_MS });
  });

  it("ends for any sequence of responses", () => {
    const outcome = fc.record({
      status: fc.integer({ min: 300, max: 599 }).filter((status) => status !== 410),
      retryAfter: fc.option(fc.oneof(fc.string(), fc.nat().map(String))),
    });
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 10, maxLength: 10 }), (outcomes) => {
        const decisions = outcomes.map(({ status, retryAfter }, at) =>
          after(answered(status, retryAfter), at + 1),
        );
        expect(decisions.map(({ kind }) => kind)).toEqual([
          ...Array.from({ length: 9 }, () => "retry"),
          "failed",
        ]);
        const delays = decisions.flatMap((decision) => (decision.kind === "retry" ? [decision.delayMs] : []));
        expect(Math.min(...delays)).toBeGreaterThanOrEqual(4 * SECOND_MS);
        expect(Math.max(...delays)).toBeLessThanOrEqual(1.2 * DAY_MS);
      }),
    );
  });
});

describe("a delivery to a test endpoint", () => {
  it("follows the test schedule, then fails", () => {
    const delays = Array.from({ length: 10 }, (_, at) => {
      const decision = decideNext(answered(500), {
        attempt: at + 1,
        policy: test,
        random: () => 0.5,
        nowMs,
      });
      return decision.kind === "retry" ? decision.delayMs / SECOND_MS : decision.kind;
    });
    expect(delays).toEqual([1, 1, 2, 3, 4, 5, 6, 7, 8, "failed"]);
  });

  it("waits at most 5 s for Retry-After", () => {
    const input = { attempt: 1, policy: test, random: () => 0.5, nowMs };
    expect(decideNext(answered(503, "3600"), input)).toEqual({
      kind: "retry",
      delayMs: 5 * SECOND_MS,
      pauseEndpointMs: 5 * SECOND_MS,
    });
  });

  it("fails before its endpoint is disabled, which leaves time to replay it within two minutes", () => {
    const checkIntervalMs = 10 * SECOND_MS;
    expect(disableRules.test.afterMs).toBeGreaterThan(MINUTE_MS);
    expect(disableRules.test.afterMs + checkIntervalMs).toBeLessThanOrEqual(90 * SECOND_MS);
    expect(disableRules.test.spreadMs).toBeLessThan(
      (longestScheduleMs(test.schedule) / (1 + JITTER)) * (1 - JITTER),
    );
  });
});

describe("parseRetryAfter", () => {
  it.each([
    ["120", 120 * SECOND_MS],
    [" 5 ", 5 * SECOND_MS],
    ["86400", DAY_MS],
    ["86401", DAY_MS],
    ["9".repeat(400), DAY_MS],
    ["Sat, 21 Nov 2026 12:01:00 GMT", MINUTE_MS],
    ["Saturday, 21-Nov-26 12:01:00 GMT", MINUTE_MS],
    ["Sat Nov 21 12:01:00 2026", MINUTE_MS],
    ["Sun, 21 Nov 2027 12:00:00 GMT", DAY_MS],
  ])("%s", (text, expected) => {
    expect(parseRetryAfter(text, nowMs, DAY_MS)).toBe(expected);
  });

  it.each([
    null,
    "",
    "0",
    "-5",
    "1.5",
    "1e3",
    "soon",
    "2026-11-21T12:01:00Z",
    "Sat, 21 Nov 2026 11:59:00 GMT",
    "Sat, 21 Nov 2026 12:01:00 CET",
    "Sat, 99 Nov 2026 12:01:00 GMT",
    "Sat, 21 Nov 2026 12:01:00 GMT, 120",
    "120, 60",
  ])("%j is ignored", (text) => {
    expect(parseRetryAfter(text, nowMs, DAY_MS)).toBeNull();
  });
});

describe("parseSchedule", () => {
  it("reads delays in any unit, with or without spaces", () => {
    expect(parseSchedule("0s, 100ms , 1m,2h,3d")).toEqual([0, 100, MINUTE_MS, 2 * HOUR_MS, 3 * DAY_MS]);
  });

  it.each(["", "0s,,5s", "5", "1.5h", "0s,1w", "0s,31d", "5s,10s", `0s${",1s".repeat(50)}`])(
    "returns null for %j",
    (text) => {
      expect(parseSchedule(text)).toBeNull();
    },
  );
});
