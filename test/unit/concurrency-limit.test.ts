import { describe, expect, it } from "vitest";
import { ConcurrencyLimit } from "../../src/http/load-shedding/concurrency-limit.ts";
import {
  createSimulatedServer,
  type SimulatedOutcome,
  type RequestKind,
} from "../support/app/simulated-server.ts";

/** At best the loop answers one in 0.33 ms, its door included: 3,000 a second. */
const list: RequestKind = { name: "list", loopMs: 0.3, databaseMs: 0.3, share: 1 };
const CAPACITY = 3_000;

/** A hundredth of the requests takes a fifth of the database's time. */
const mixture: RequestKind[] = [
  { ...list, share: 0.9 },
  { name: "update", loopMs: 0.4, databaseMs: 1, share: 0.09 },
  { name: "batch", loopMs: 3, databaseMs: 10, share: 0.01 },
];
const MIXED_CAPACITY = 1_800;

const answered = (outcomes: readonly SimulatedOutcome[]): SimulatedOutcome[] =>
  outcomes.filter(({ isAnswered }) => isAnswered);
const refused = (outcomes: readonly SimulatedOutcome[]): SimulatedOutcome[] =>
  outcomes.filter(({ isAnswered }) => !isAnswered);

function p99(outcomes: readonly SimulatedOutcome[]): number {
  const sorted = outcomes.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] as number;
}

/** Answers one of a millisecond every ten, for so long, and tells how many found no room. */
function answerLists(
  limit: ConcurrencyLimit,
  { fromMs, seconds }: { fromMs: number; seconds: number },
): number {
  let without = 0;
  for (let nowMs = fromMs; nowMs < fromMs + seconds * 1000; nowMs += 10) {
    if (limit.isAdjustmentDue(nowMs)) limit.adjust(nowMs);
    if (limit.hasCapacity) {
      limit.onStart(nowMs);
      limit.onSuccess("list", nowMs, nowMs + 1);
    } else {
      limit.onReject();
      without += 1;
    }
  }
  return without;
}

describe("a server that is not overloaded", () => {
  it("refuses nobody at eight tenths of what it can", () => {
    const outcomes = createSimulatedServer().run({ seconds: 20, perSecond: CAPACITY * 0.8, kinds: [list] });
    expect(refused(outcomes)).toEqual([]);
  });

  it("refuses nobody of one burst after the other, nor of those who come between", () => {
    const server = createSimulatedServer();
    const load = { perSecond: CAPACITY * 0.3, kinds: [list] };
    server.run({ ...load, seconds: 2 });
    for (let burst = 0; burst < 10; burst += 1)
      expect(refused(server.run({ ...load, seconds: 0.15, burst: 150 }))).toEqual([]);
  });

  it("refuses nobody since some requests take thirty times what others do", () => {
    const server = createSimulatedServer({ databaseCores: 4 });
    const outcomes = server.run({ seconds: 20, perSecond: MIXED_CAPACITY * 0.5, kinds: mixture });
    expect(refused(outcomes)).toEqual([]);
  });
});

describe("a server of which three times as much is asked as it can", () => {
  const overload = { seconds: 30, perSecond: CAPACITY * 3, kinds: [list] };

  it("answers what it can, in at most three times what it took in calm, and refuses the others at once", () => {
    const server = createSimulatedServer();
    const calm = server.run({ seconds: 10, perSecond: CAPACITY * 0.3, kinds: [list] });
    const outcomes = server.run(overload);
    const room = 1 - overload.perSecond * 0.00003;
    expect(answered(outcomes).length / overload.seconds).toBeGreaterThan(CAPACITY * room * 0.9);
    expect(p99(answered(outcomes))).toBeLessThan(p99(calm) * 3);
    expect(p99(refused(outcomes))).toBeLessThan(p99(calm) * 3);
  });

  it("finds out by itself when it is over", () => {
    const server = createSimulatedServer();
    server.run({ seconds: 5, perSecond: CAPACITY * 0.3, kinds: [list] });
    server.run({ ...overload, seconds: 10 });
    const after = server.run({ seconds: 5, perSecond: CAPACITY * 0.3, kinds: [list] });
    expect(refused(after).filter(({ atMs }) => atMs > 500)).toEqual([]);
  });

  it("does the same when it is started in the midst of it", () => {
    const server = createSimulatedServer();
    const outcomes = server.run({ ...overload, seconds: 10 });
    const settled = answered(outcomes).filter(({ atMs }) => atMs > 3_000);
    expect(settled.length / 7).toBeGreaterThan(CAPACITY * 0.6);
    expect(p99(settled)).toBeLessThan(10);
  });

  it("keeps each kind of request to three times what it took, dear ones and cheap ones", () => {
    const server = createSimulatedServer();
    const calm = server.run({ seconds: 20, perSecond: MIXED_CAPACITY * 0.3, kinds: mixture });
    const outcomes = server.run({ seconds: 30, perSecond: MIXED_CAPACITY * 3, kinds: mixture });
    for (const { name } of mixture) {
      const ofKind = ({ kind }: SimulatedOutcome): boolean => kind === name;
      const answers = answered(outcomes).filter(ofKind);
      expect(answers.length).toBeGreaterThan(0);
      expect(p99(answers)).toBeLessThan(p99(calm.filter(ofKind)) * 3);
    }
  });

  it("learns anew what calm is, once requests have come to take longer for good", () => {
    const slower = { ...list, databaseMs: 3 };
    const server = createSimulatedServer({ databaseCores: 16 });
    server.run({ seconds: 5, perSecond: CAPACITY * 0.3, kinds: [list] });
    server.run({ seconds: 15, perSecond: CAPACITY * 3, kinds: [slower] });
    const outcomes = server.run({ seconds: 10, perSecond: CAPACITY * 3, kinds: [slower] });
    // The four that are let in at any rate would be 1,000 a second.
    expect(answered(outcomes).length / 10).toBeGreaterThan(CAPACITY * 0.6);
  });
});

describe("requests that take long, whoever else is there", () => {
  it("shut nobody out", () => {
    const limit = new ConcurrencyLimit({ max: 200 });
    answerLists(limit, { fromMs: 0, seconds: 1 });
    for (let at = 0; at < 20; at += 1) limit.onStart(1_000);
    expect(answerLists(limit, { fromMs: 1_000, seconds: 60 })).toBe(0);
  });

  it("shut out others for a moment at most where they have all the places that there are", () => {
    const limit = new ConcurrencyLimit({ max: 20 });
    answerLists(limit, { fromMs: 0, seconds: 1 });
    for (let at = 0; at < 20; at += 1) limit.onStart(1_000);
    expect(limit.hasCapacity).toBe(false);
    for (let at = 0; at < 10; at += 1) limit.onRelease(2_000);
    expect(answerLists(limit, { fromMs: 2_000, seconds: 60 })).toBe(0);
  });

  it("shut out others for two looks at most where it would learn what calm is", () => {
    const limit = new ConcurrencyLimit({ max: 20 });
    answerLists(limit, { fromMs: 0, seconds: 1 });
    for (let at = 0; at < 2; at += 1) limit.onStart(1_000);
    let inWork: number[] = [];
    let shutMs = 0;
    for (let nowMs = 1_010; nowMs < 40_000; nowMs += 10) {
      if (limit.isAdjustmentDue(nowMs)) limit.adjust(nowMs);
      for (const beganMs of inWork) limit.onSuccess("list", beganMs, nowMs);
      inWork = [];
      shutMs = limit.hasCapacity ? 0 : shutMs + 10;
      expect(shutMs).toBeLessThanOrEqual(200);
      for (; limit.hasCapacity; limit.onStart(nowMs)) inWork.push(nowMs);
      limit.onReject();
    }
  });
});
