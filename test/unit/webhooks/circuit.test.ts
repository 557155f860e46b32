import { describe, expect, it } from "vitest";
import { CircuitWindow, probeDelayMs } from "../../../src/webhooks/dispatcher/retry-or-disable.ts";
import { MINUTE_MS, SECOND_MS } from "../../support/fake-clock.ts";

const startMs = Date.parse("2026-11-21T12:00:03Z");

/** Records `x` as a failure and `.` as a success, one per second. Returns the positions at which the circuit would open. */
function record(window: CircuitWindow, pattern: string, fromMs = startMs): number[] {
  return Array.from(pattern, (mark, at) => window.record(mark === ".", fromMs + at * SECOND_MS)).flatMap(
    (opens, at) => (opens ? [at + 1] : []),
  );
}

describe("the circuit window", () => {
  it.each([
    ["at the tenth consecutive failure", "x".repeat(9), []],
    ["at the tenth consecutive failure", "x".repeat(10), [10]],
    ["not if a success is between them", `${".".repeat(20)}${"x".repeat(9)}.${"x".repeat(9)}`, []],
    ["at 70 % failures of at least ten attempts", "xxx.xxx.x", []],
    ["at 70 % failures of at least ten attempts", "xx.xx.xx.x", [10]],
    ["at 70 % failures of at least ten attempts", "xx.xx.x..x", []],
    ["not at a success", "xxx.xxx.x.", []],
  ])("opens %s: %s", (_when, pattern, opened) => {
    expect(record(new CircuitWindow(), pattern)).toEqual(opened);
  });

  it("opens at ten consecutive failures over any time", () => {
    const window = new CircuitWindow();
    const opened = Array.from({ length: 10 }, (_, at) => window.record(false, startMs + at * 60 * MINUTE_MS));
    expect(opened).toEqual([...Array.from({ length: 9 }, () => false), true]);
  });

  it("ignores attempts older than five minutes", () => {
    const window = new CircuitWindow();
    record(window, "xxx.xxx.");
    expect(record(window, ".xxxx", startMs + 6 * MINUTE_MS)).toEqual([]);
    const kept = new CircuitWindow();
    record(kept, "xxx.xxx.");
    expect(record(kept, ".xxxx", startMs + 4 * MINUTE_MS)).toEqual([2, 3, 4, 5]);
  });

  it("is empty at first, after a reset, and five minutes after the last attempt", () => {
    const window = new CircuitWindow();
    expect(window.isEmpty(startMs)).toBe(true);
    record(window, "x.");
    expect(window.isEmpty(startMs + 2 * SECOND_MS)).toBe(false);
    expect(window.isEmpty(startMs + 6 * MINUTE_MS)).toBe(true);
    record(window, "x", startMs + 7 * MINUTE_MS);
    expect(window.isEmpty(startMs + 8 * MINUTE_MS)).toBe(false);
    expect(window.isEmpty(startMs + 13 * MINUTE_MS)).toBe(true);
    record(window, "x", startMs + 14 * MINUTE_MS);
    window.reset();
    expect(window.isEmpty(startMs + 14 * MINUTE_MS)).toBe(true);
  });

  it("keeps counting if the clock is set back", () => {
    const window = new CircuitWindow();
    record(window, "x".repeat(5));
    expect(record(window, "x".repeat(5), startMs - 60 * MINUTE_MS)).toEqual([5]);
  });
});

describe("an open circuit", () => {
  it("is probed after 30 s, then 1, 2, 4, 8 and 15 minutes", () => {
    expect(Array.from({ length: 8 }, (_, step) => probeDelayMs(step) / SECOND_MS)).toEqual([
      30, 60, 120, 240, 480, 900, 900, 900,
    ]);
    expect(probeDelayMs(5_000)).toBe(15 * MINUTE_MS);
  });
});
