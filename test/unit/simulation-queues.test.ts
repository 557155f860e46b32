import { describe, expect, it } from "vitest";
import { ASSUMPTIONS } from "../../bench/simulation/assumptions.ts";
import {
  SimulatedCircuit,
  fairShares,
  AttemptQueues,
  FifoQueue,
} from "../../bench/simulation/queue-model.ts";
import type { SimulatedOrganization } from "../../bench/simulation/organizations.ts";
import { simulateQueues, type SimulationOutcome, type SimulationRun } from "../../bench/simulation/queues.ts";
import { createRandom } from "../../bench/random.ts";

/** At the same rate all day: the biggest brings as much as all ten others. */
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

describe("the queue of deliveries in virtual time", () => {
  it.each(["nothing", "receiver", "workers", "mongo"] as const)(
    "loses nothing and makes nothing up: out of order is %s",
    (target) => {
      const broken = partners.map((partner, at) => ({ ...partner, isBroken: at === 3 }));
      const outcome = run({ organizations: broken, outage: { target, fromS: 100, untilS: 400 } });
      expect(outcome.arrived).toBeGreaterThan(200_000);
      expect(accountedFor(outcome)).toBe(outcome.arrived);
      expect(outcome.onHold).toBeGreaterThan(10_000);
    },
  );

  it("sends at once what can be sent", () => {
    expect(run()).toMatchObject({ othersP99S: 0, biggestP99S: 0, waiting: 0, dead: 0 });
  });

  it("catches up after workers were away as fast as what is left of their capacity", () => {
    const { caughtUpS, maxPending } = run({ outage: { target: "workers", fromS: 0, untilS: 300 } });
    expect(maxPending / (300 * 200)).toBeCloseTo(1, 1);
    // The load and its retries take 210 of 400 a second.
    expect((caughtUpS ?? 0) / ((300 * 200) / 190)).toBeCloseTo(1, 1);
  });

  it("has only the receiver's own deliveries wait for it, until the circuit's next probe and its limit let them through", () => {
    const { othersP99S, biggestP99S, caughtUpS, p99CaughtUpS } = run({
      outage: { target: "receiver", fromS: 0, untilS: 300 },
    });
    expect(othersP99S).toBe(0);
    expect(biggestP99S).toBeGreaterThan(200);
    // Probes after 30, 90, 210 and 450 s; then 450 seconds' deliveries at 300 a second less the 105 that go on coming.
    expect(caughtUpS).toBeGreaterThan(150);
    expect(caughtUpS).toBeLessThan(150 + (450 * 100) / 180);
    expect(p99CaughtUpS).toBe(caughtUpS);
  });

  it("has first attempts go on and only retries wait while MongoDB is away", () => {
    const { othersP99S, biggestP99S, maxPending, caughtUpS } = run({
      outage: { target: "mongo", fromS: 0, untilS: 300 },
    });
    expect([othersP99S, biggestP99S]).toEqual([0, 0]);
    expect(maxPending).toBeGreaterThan(1_000);
    expect(maxPending).toBeLessThan(300 * 200 * 0.06);
    expect(caughtUpS).toBeLessThan(60);
  });

  it("says so where nobody catches up", () => {
    const outcome = run({ capacityPerSecond: 150, outage: { target: "workers", fromS: 0, untilS: 60 } });
    expect(outcome.caughtUpS).toBeNull();
    expect(outcome.pending).toBeGreaterThan(50_000);
  });
});

describe("a line", () => {
  it("gives out the longest waiting first, and parts of what came together", () => {
    const line = new FifoQueue();
    line.enqueue({ sinceS: 1, count: 3, attempt: 1 });
    line.enqueue({ sinceS: 2, count: 3, attempt: 1 });
    expect(line.dequeue(4).map(({ sinceS, count }) => [sinceS, count])).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect(line.length).toBe(2);
    expect(line.dequeue(9).map(({ count }) => count)).toEqual([2]);
  });
});

describe("two lanes", () => {
  it("give what is to be sent again a fifth while both wait, and all that is left otherwise", () => {
    const lanes = new AttemptQueues();
    lanes.enqueue({ sinceS: 1, count: 100, attempt: 2 });
    lanes.enqueue({ sinceS: 9, count: 10, attempt: 1 });
    expect(lanes.dequeue(10).map(({ attempt, count }) => [attempt, count])).toEqual([
      [1, 8],
      [2, 2],
    ]);
    expect(lanes.dequeue(10).map(({ attempt, count }) => [attempt, count])).toEqual([
      [1, 2],
      [2, 8],
    ]);
    expect(lanes.length).toBe(90);
  });
});

describe("a circuit", () => {
  it("lets nothing through between probes, which are ever further apart", () => {
    const circuit = new SimulatedCircuit();
    for (let second = 0; second < 4_000; second += 1) expect(circuit.allows(second, true)).toBe(false);
    // Probes at 0, 30, 90, 210, 450, 930, 1830, 2730 and 3630 s: the next is 900 s after that.
    expect(circuit.allows(4_529, false)).toBe(false);
    expect(circuit.allows(4_530, false)).toBe(true);
    expect(circuit.allows(4_531, false)).toBe(true);
  });
});

describe("fair shares", () => {
  it("are what is wanted where there is enough", () => {
    expect(fairShares([5, 0, 7], 12)).toEqual([5, 0, 7]);
  });

  it("give nobody more than another who wants more", () => {
    expect(fairShares([100, 2, 100, 0], 22)).toEqual([10, 2, 10, 0]);
  });
});
