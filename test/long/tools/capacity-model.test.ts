import { describe, expect, it } from "vitest";
import { ASSUMPTIONS, type Assumptions } from "../../../bench/capacity/assumptions.ts";
import { computeCosts, type Costs, type Figures, type Phase } from "../../../bench/capacity/costs.ts";
import { estimateDisk, sizeFleet } from "../../../bench/capacity/fleet.ts";

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

  it("estimates disk for the retention of deliveries and attempts, and for a year of events", () => {
    const constant = { ...plain, deliveriesPerSecond: 1_000 / 86_400, nightShare: 1 };
    const disk = estimateDisk(costs, constant);
    expect(disk.deliveriesPerDay).toBeCloseTo(1_000);
    expect(disk.deliveries).toBeCloseTo(30_000 * 300);
    expect(disk.attempts).toBeCloseTo(30_000 * 700);
    expect(disk.eventsOfYear).toBeCloseTo((365_000 / 2) * 2_000);
  });
});
