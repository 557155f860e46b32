import { describe, expect, it } from "vitest";
import { ASSUMPTIONS } from "../../../bench/simulation/assumptions.ts";
import {
  SimulatedCircuit,
  fairShares,
  AttemptQueues,
  FifoQueue,
} from "../../../bench/simulation/queue-model.ts";
import type { SimulatedOrganization } from "../../../bench/simulation/organizations.ts";
import {
  simulateQueues,
  type SimulationOutcome,
  type SimulationRun,
} from "../../../bench/simulation/queues.ts";
import { createRandom } from "../../../bench/random.ts";

/** Constant rates; the largest organisation has as many deliveries as the ten others together. */
const partners: SimulatedOrganization[] = Array.from({ length: 11 }, (_, at) => ({
  peakPerSecond: at === 0 ? 100 : 10,
  peakHour: 12,
  isBroken: false,
}));

const run = (given: Partial<SimulationRun> = {}): SimulationOutcome =>
  simulateQueues({
    organizations: partners,
    assumptions: { ...ASSUMPTIONS, nightShare: 1, retriedShare: 0.05 },
    capacityPerSecond: 400,
    outage: { target: "nothing", fromS: 0, untilS: 0 },
    startS: 0,
    lengthS: 1_200,
    random: createRandom(5),
    ...given,
  });

const accountedFor = ({ delivered, pending, scheduled, failed, onHold }: SimulationOutcome): number =>
  delivered + pending + scheduled + failed + onHold;

describe("the simulated delivery queues", () => {
  it.each(["nothing", "receiver", "workers", "mongo"] as const)(
    "account for every delivery during an outage of %s",
    (target) => {
      const broken = partners.map((partner, at) => ({ ...partner, isBroken: at === 3 }));
      const outcome = run({ organizations: broken, outage: { target, fromS: 100, untilS: 400 } });
      expect(outcome.arrived).toBeGreaterThan(200_000);
      expect(accountedFor(outcome)).toBe(outcome.arrived);
      expect(outcome.onHold).toBeGreaterThan(10_000);
    },
  );

  it("send every delivery immediately without an outage", () => {
    expect(run()).toMatchObject({ othersP99S: 0, biggestP99S: 0, pending: 0, failed: 0 });
  });

  it("clear the backlog of a worker outage with the workers' spare capacity", () => {
    const { caughtUpS, maxPending } = run({ outage: { target: "workers", fromS: 0, untilS: 300 } });
    expect(maxPending / (300 * 200)).toBeCloseTo(1, 1);
    // Deliveries and their retries use 210 of 400 attempts per second.
    expect((caughtUpS ?? 0) / ((300 * 200) / 190)).toBeCloseTo(1, 1);
  });

  it("delay only the broken receiver's deliveries, until a probe succeeds and within its rate limit", () => {
    const { othersP99S, biggestP99S, caughtUpS, p99CaughtUpS } = run({
      outage: { target: "receiver", fromS: 0, untilS: 300 },
    });
    expect(othersP99S).toBe(0);
    expect(biggestP99S).toBeGreaterThan(200);
    // Probes after 30, 90, 210 and 450 s; then 450 s of deliveries are sent at 300 per second less 105 new ones.
    expect(caughtUpS).toBeGreaterThan(150);
    expect(caughtUpS).toBeLessThan(150 + (450 * 100) / 180);
    expect(p99CaughtUpS).toBe(caughtUpS);
  });

  it("delay only retries while MongoDB is out", () => {
    const { othersP99S, biggestP99S, maxPending, caughtUpS } = run({
      outage: { target: "mongo", fromS: 0, untilS: 300 },
    });
    expect([othersP99S, biggestP99S]).toEqual([0, 0]);
    expect(maxPending).toBeGreaterThan(1_000);
    expect(maxPending).toBeLessThan(300 * 200 * 0.06);
    expect(caughtUpS).toBeLessThan(60);
  });

  it("report null if the backlog never clears", () => {
    const outcome = run({ capacityPerSecond: 150, outage: { target: "workers", fromS: 0, untilS: 60 } });
    expect(outcome.caughtUpS).toBeNull();
    expect(outcome.pending).toBeGreaterThan(50_000);
  });
});

describe("FifoQueue", () => {
  it("takes the oldest first and splits groups", () => {
    const queue = new FifoQueue();
    queue.enqueue({ sinceS: 1, count: 3, attempt: 1 });
    queue.enqueue({ sinceS: 2, count: 3, attempt: 1 });
    expect(queue.dequeue(4).map(({ sinceS, count }) => [sinceS, count])).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect(queue.length).toBe(2);
    expect(queue.dequeue(9).map(({ count }) => count)).toEqual([2]);
  });
});

describe("AttemptQueues", () => {
  it("takes 20 % retries while both queues have some, and fills up with either", () => {
    const queues = new AttemptQueues();
    queues.enqueue({ sinceS: 1, count: 100, attempt: 2 });
    queues.enqueue({ sinceS: 9, count: 10, attempt: 1 });
    expect(queues.dequeue(10).map(({ attempt, count }) => [attempt, count])).toEqual([
      [1, 8],
      [2, 2],
    ]);
    expect(queues.dequeue(10).map(({ attempt, count }) => [attempt, count])).toEqual([
      [1, 2],
      [2, 8],
    ]);
    expect(queues.length).toBe(90);
  });
});

describe("SimulatedCircuit", () => {
  it("allows nothing between probes, whose intervals double up to 900 s", () => {
    const circuit = new SimulatedCircuit();
    for (let second = 0; second < 4_000; second += 1) expect(circuit.allows(second, true)).toBe(false);
    // Probes at 0, 30, 90, 210, 450, 930, 1830, 2730 and 3630 s: the next is 900 s after that.
    expect(circuit.allows(4_529, false)).toBe(false);
    expect(circuit.allows(4_530, false)).toBe(true);
    expect(circuit.allows(4_531, false)).toBe(true);
  });
});

describe("fairShares", () => {
  it("returns the wanted counts if capacity suffices", () => {
    expect(fairShares([5, 0, 7], 12)).toEqual([5, 0, 7]);
  });

  it("limits the largest to equal shares", () => {
    expect(fairShares([100, 2, 100, 0], 22)).toEqual([10, 2, 10, 0]);
  });
});
