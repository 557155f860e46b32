import { describe, expect, it } from "vitest";
import { ConcurrencyLimit } from "../../../src/api/load-shedding/load-shedding.ts";
import {
  createSimulatedServer,
  type SimulatedOutcome,
  type RequestKind,
} from "../../support/app/simulated-server.ts";

/** The event loop needs at least 0.33 ms per request, including admission: 3,000 requests per second. */
const list: RequestKind = { name: "list", loopMs: 0.3, databaseMs: 0.3, share: 1 };
const CAPACITY = 3_000;

/** 1 % of the requests take about a fifth of the database time. */
const mixture: RequestKind[] = [
  { ...list, share: 0.9 },
  { name: "update", loopMs: 0.4, databaseMs: 1, share: 0.09 },
  { name: "batch", loopMs: 3, databaseMs: 10, share: 0.01 },
];
const MIXED_CAPACITY = 1_800;

const answered = (outcomes: readonly SimulatedOutcome[]): SimulatedOutcome[] =>
  outcomes.filter(({ isAnswered }) => isAnswered);
const rejected = (outcomes: readonly SimulatedOutcome[]): SimulatedOutcome[] =>
  outcomes.filter(({ isAnswered }) => !isAnswered);

function p99(outcomes: readonly SimulatedOutcome[]): number {
  const sorted = outcomes.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] as number;
}

describe("a server that is not overloaded", () => {
  it("rejects no request at 80 % of its capacity", () => {
    const outcomes = createSimulatedServer().run({ seconds: 20, perSecond: CAPACITY * 0.8, kinds: [list] });
    expect(rejected(outcomes)).toEqual([]);
  });

  it("rejects no request during repeated bursts", () => {
    const server = createSimulatedServer();
    const load = { perSecond: CAPACITY * 0.3, kinds: [list] };
    server.run({ ...load, seconds: 2 });
    for (let burst = 0; burst < 10; burst += 1)
      expect(rejected(server.run({ ...load, seconds: 0.15, burst: 150 }))).toEqual([]);
  });

  it("rejects no request of a mixture in which some take thirty times longer than others", () => {
    const server = createSimulatedServer({ databaseCores: 4 });
    const outcomes = server.run({ seconds: 20, perSecond: MIXED_CAPACITY * 0.5, kinds: mixture });
    expect(rejected(outcomes)).toEqual([]);
  });
});

describe("a server under three times its capacity", () => {
  const overload = { seconds: 30, perSecond: CAPACITY * 3, kinds: [list] };

  it("uses its capacity, at most triples latency, and rejects the other requests quickly", () => {
    const server = createSimulatedServer();
    const baseline = server.run({ seconds: 10, perSecond: CAPACITY * 0.3, kinds: [list] });
    const outcomes = server.run(overload);
    const remainingShare = 1 - overload.perSecond * 0.00003;
    expect(answered(outcomes).length / overload.seconds).toBeGreaterThan(CAPACITY * remainingShare * 0.9);
    expect(p99(answered(outcomes))).toBeLessThan(p99(baseline) * 3);
    expect(p99(rejected(outcomes))).toBeLessThan(p99(baseline) * 3);
  });

  it("rejects no more requests half a second after the overload ends", () => {
    const server = createSimulatedServer();
    server.run({ seconds: 5, perSecond: CAPACITY * 0.3, kinds: [list] });
    server.run({ ...overload, seconds: 10 });
    const after = server.run({ seconds: 5, perSecond: CAPACITY * 0.3, kinds: [list] });
    expect(rejected(after).filter(({ atMs }) => atMs > 500)).toEqual([]);
  });

  it("limits latency also if it starts under overload", () => {
    const outcomes = createSimulatedServer().run({ ...overload, seconds: 10 });
    const settled = answered(outcomes).filter(({ atMs }) => atMs > 1_000);
    expect(settled.length / 9).toBeGreaterThan(CAPACITY * 0.6);
    expect(p99(settled)).toBeLessThan(10);
  });

  it("at most triples the latency of each kind of request", () => {
    const server = createSimulatedServer();
    const baseline = server.run({ seconds: 20, perSecond: MIXED_CAPACITY * 0.3, kinds: mixture });
    const outcomes = server.run({ seconds: 30, perSecond: MIXED_CAPACITY * 3, kinds: mixture });
    for (const { name } of mixture) {
      const ofKind = ({ kind }: SimulatedOutcome): boolean => kind === name;
      const answers = answered(outcomes).filter(ofKind);
      expect(answers.length).toBeGreaterThan(0);
      expect(p99(answers)).toBeLessThan(p99(baseline.filter(ofKind)) * 3);
    }
  });
});

describe("the limit", () => {
  const SUSTAINED = 4;

  it("is exceeded by a burst until the burst has lasted 300 ms", () => {
    const limit = new ConcurrencyLimit({ sustained: SUSTAINED, burst: 40 });
    for (let count = 0; count <= SUSTAINED; count += 1) limit.onStart(1_000);
    expect(limit.isBurstTooLong(1_299)).toBe(false);
    expect(limit.limit).toBe(40);
    expect(limit.isBurstTooLong(1_300)).toBe(true);
  });

  it("is not exceeded for long if fewer requests were in flight meanwhile", () => {
    const limit = new ConcurrencyLimit({ sustained: SUSTAINED, burst: 40 });
    for (let count = 0; count <= SUSTAINED; count += 1) limit.onStart(1_000);
    limit.onRelease();
    limit.onStart(1_200);
    expect(limit.isBurstTooLong(1_499)).toBe(false);
    expect(limit.isBurstTooLong(1_500)).toBe(true);
  });

  it("is lower during an overload, which ends one second after the last rejection", () => {
    const limit = new ConcurrencyLimit({ sustained: SUSTAINED, burst: 40 });
    limit.onOverload(1_000);
    limit.onOverload(1_500);
    limit.endIfRecovered(2_499);
    expect(limit.limit).toBe(SUSTAINED);
    limit.endIfRecovered(2_500);
    expect(limit.limit).toBe(40);
  });
});
