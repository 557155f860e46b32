import { describe, expect, it } from "vitest";
import { ASSUMPTIONS, type Assumptions } from "../../../bench/simulation/assumptions.ts";
import { computeCosts, type Costs, type Figures, type Phase } from "../../../bench/simulation/costs.ts";
import { estimateDisk, sizeFleet } from "../../../bench/simulation/fleet.ts";
import {
  busiestSecond,
  createOrganizations,
  computeDeliveriesPerDay,
  organizationRate,
} from "../../../bench/simulation/organizations.ts";
import { simulateWaits } from "../../../bench/simulation/multi-server-queue.ts";
import { poisson, createRandom } from "../../../bench/random.ts";

const figures = (given: Partial<Figures>): Figures => ({
  apiUs: 0,
  workerUs: 0,
  postgresUs: 0,
  mongoUs: 0,
  statements: 0,
  walBytes: 0,
  mongoCommands: 0,
  ...given,
});

describe("computeCosts", () => {
  const phase = (given: Partial<Phase>): Phase => ({
    seconds: 10,
    reads: 0,
    changes: 0,
    deliveries: 0,
    retries: 0,
    figures: figures({ postgresUs: 1_000 }),
    ...given,
  });
  const phases = {
    rest: phase({}),
    lists: phase({ reads: 10, figures: figures({ postgresUs: 1_000 + 10 * 300 }) }),
    changes: phase({ changes: 10, figures: figures({ postgresUs: 1_000 + 10 * 900 }) }),
    batches: phase({ changes: 100, figures: figures({ postgresUs: 1_000 + 100 * 250 }) }),
    deliveries: [
      {
        meant: 20,
        phase: phase({
          changes: 100,
          deliveries: 200,
          figures: figures({ postgresUs: 1_000 + 100 * 250 + 200 * 70 }),
        }),
      },
    ],
    retries: phase({
      changes: 100,
      deliveries: 200,
      retries: 50,
      figures: figures({ postgresUs: 1_000 + 100 * 250 + 200 * 70 + 50 * 90 }),
    }),
  };

  it("subtracts the processes at rest and the phase's other work", () => {
    const costs = computeCosts(phases);
    const measured = [costs.read, costs.change, costs.batchedChange, costs.delivery, costs.retry];
    expect(measured.map(({ postgresUs }) => Math.round(postgresUs))).toEqual([300, 900, 250, 70, 90]);
  });

  it("returns 0 if the result would be negative", () => {
    const lists = phase({ reads: 10, figures: figures({ postgresUs: 10 }) });
    expect(computeCosts({ ...phases, lists }).read.postgresUs).toBe(0);
  });
});

describe("sizeFleet", () => {
  const costs: Costs = {
    read: figures({ apiUs: 300, postgresUs: 200 }),
    change: figures({ apiUs: 400, postgresUs: 1_000, walBytes: 5_000 }),
    batchedChange: figures({ apiUs: 50, postgresUs: 250, walBytes: 4_000 }),
    delivery: figures({ workerUs: 120, postgresUs: 70, walBytes: 1_000 }),
    retry: figures({ workerUs: 200, postgresUs: 70 }),
    bytes: { job: 1_000, event: 2_000, delivery: 300, attempt: 700 },
  };
  const plain: Assumptions = { ...ASSUMPTIONS, retriedShare: 0, batchedShare: 1 };

  it("divides the busy cores by the target utilisation", () => {
    const size = sizeFleet(costs, plain);
    expect(size.busyCores.api).toBeCloseTo((5_000 * 50 + 5_000 * 300) / 1e6);
    expect(size.busyCores.primary).toBeCloseTo((5_000 * 250 + 10_000 * 70) / 1e6);
    expect(size.primaryCoreCounts.without).toBeCloseTo(1.95 / 0.6);
    expect(size.apis).toBe(Math.ceil(1.75 / 0.6));
    expect(size.walBytes).toBeCloseTo(5_000 * 4_000 + 10_000 * 1_000);
  });

  it("needs more workers for slow receivers, although their CPU time is the same", () => {
    const slow = sizeFleet(costs, { ...plain, answerS: 1 });
    expect(slow.workers).toBe(Math.ceil(10_000 / 512 / 0.6));
    expect(slow.workers).toBeGreaterThan(sizeFleet(costs, plain).workers);
  });

  it("divides the primary's cores among shards", () => {
    const size = sizeFleet(costs, { ...plain, coresOfPrimary: 2 });
    expect(size.shards).toBe(2);
    expect(size.deliveriesPerPrimary).toBeCloseTo((10_000 * 2 * 0.6) / 1.95);
  });

  it("limits the rate after an outage by the slowest part", () => {
    const narrow = sizeFleet({ ...costs, delivery: figures({ workerUs: 1, postgresUs: 500 }) }, plain);
    const primary = (5_000 * 250 + 10_000 * 500) / 1e6;
    expect(narrow.maxDeliveries).toBeCloseTo((primary / 0.6 - 1.25) / 500e-6);
  });

  it("estimates disk for the retention of deliveries and attempts, and for a year of events", () => {
    const disk = estimateDisk(1_000, costs, plain);
    expect(disk).toEqual({
      deliveries: 30_000 * 300,
      attempts: 30_000 * 700,
      eventsOfYear: (365_000 / 2) * 2_000,
    });
  });
});

describe("createOrganizations", () => {
  const partners = createOrganizations(ASSUMPTIONS, createRandom(1));
  const { nightShare } = ASSUMPTIONS;
  const sumAt = (second: number): number =>
    partners.reduce((sum, partner) => sum + organizationRate(partner, second, nightShare), 0);

  it("returns rates that add up to the peak load in the busiest minute", () => {
    expect(sumAt(busiestSecond(partners, nightShare))).toBeCloseTo(10_000);
    expect(partners[0]?.peakPerSecond).toBeGreaterThan(300);
    expect(partners[0]?.peakPerSecond).toBeLessThan(600);
  });

  it("agrees with computeDeliveriesPerDay over a whole day", () => {
    let sum = 0;
    for (let second = 0; second < 86_400; second += 600) sum += sumAt(second) * 600;
    expect(computeDeliveriesPerDay(partners, nightShare)).toBeCloseTo(sum, -3);
  });
});

describe("simulateWaits", () => {
  it("agrees with Erlang's C formula", () => {
    const [servers, serviceS, arrivalsPerSecond] = [4, 0.01, 300];
    const waits = simulateWaits({ servers, serviceS, arrivalsPerSecond }, 200_000, createRandom(7));
    const wanted = erlangC(servers, arrivalsPerSecond * serviceS);
    const freePerSecond = servers / serviceS - arrivalsPerSecond;
    const waited = waits.filter((wait) => wait > 0).length / waits.length;
    expect(waited).toBeCloseTo(wanted, 1);
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    expect(Math.abs(mean / (wanted / freePerSecond) - 1)).toBeLessThan(0.1);
  });
});

describe("poisson", () => {
  it.each([0.5, 8, 40])("returns counts with mean and variance %d", (mean) => {
    const random = createRandom(3);
    const counts = Array.from({ length: 50_000 }, () => poisson(mean, random));
    const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    const variance = counts.reduce((sum, count) => sum + (count - average) ** 2, 0) / counts.length;
    expect(average / mean).toBeCloseTo(1, 1);
    expect(variance / mean).toBeCloseTo(1, 1);
  });
});

/** Returns the probability that an arrival has to wait. */
function erlangC(servers: number, offered: number): number {
  let term = 1;
  let sum = 0;
  for (let n = 0; n < servers; n += 1) {
    sum += term;
    term *= offered / (n + 1);
  }
  const all = (term * servers) / (servers - offered);
  return all / (sum + all);
}
