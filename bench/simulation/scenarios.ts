/** Simulates the peak hour: without trouble, and with one part of the system out for an hour. */
import { createRandom } from "../random.ts";
import type { Assumptions } from "./assumptions.ts";
import type { FleetSize } from "./fleet.ts";
import { busiestSecond, type SimulatedOrganization } from "./organizations.ts";
import { simulateQueues, type SimulatedOutage, type SimulationOutcome } from "./queues.ts";
import { simulateWaits } from "./multi-server-queue.ts";

export interface Scenario {
  name: string;
  isOutage: boolean;
  outcome: SimulationOutcome;
}

const HOUR_S = 3_600;
/** Simulated time after each outage. */
const RECOVERY_S = 6 * HOUR_S;
const SEED = 42;

const outages: { name: string; of: SimulatedOutage["target"]; recoveryS: number }[] = [
  { name: "peak hour, no outage", of: "nothing", recoveryS: 0 },
  {
    name: "receiver of the largest organisation out for an hour",
    of: "receiver",
    recoveryS: RECOVERY_S,
  },
  { name: "all workers out for an hour", of: "workers", recoveryS: RECOVERY_S },
  { name: "MongoDB out for an hour", of: "mongo", recoveryS: RECOVERY_S },
];

/** Runs all scenarios. Each outage is the hour around the busiest minute. */
export function runScenarios(
  organizations: readonly SimulatedOrganization[],
  capacityPerSecond: number,
  assumptions: Assumptions,
): Scenario[] {
  const startS = busiestSecond(organizations, assumptions.nightShare) - HOUR_S / 2;
  return outages.map(({ name, of: target, recoveryS }) => ({
    name,
    isOutage: target !== "nothing",
    outcome: simulateQueues({
      organizations,
      assumptions,
      capacityPerSecond,
      outage: { target, fromS: 0, untilS: HOUR_S },
      startS,
      lengthS: HOUR_S + recoveryS,
      random: createRandom(SEED),
    }),
  }));
}

export interface WaitPercentiles {
  p50Ms: number;
  p99Ms: number;
}

const SIMULATED_ARRIVALS = 200_000;

/** Computes how long a statement waits for a core of the primary, and a delivery for its worker's thread, at the peak. */
export function computeWaitsAtPeak({ load, busyCores, primaryCoreCounts, statements, workers }: FleetSize): {
  primary: WaitPercentiles;
  worker: WaitPercentiles;
} {
  const attempts = load.deliveries + load.retries;
  return {
    primary: measureWait({
      arrivalsPerSecond: statements,
      servers: Math.ceil(primaryCoreCounts.withLists),
      busy: busyCores.primary + busyCores.lists,
    }),
    worker: measureWait({
      arrivalsPerSecond: attempts / workers,
      servers: 1,
      busy: busyCores.worker / workers,
    }),
  };
}

/** `busy` is the average number of busy servers. */
function measureWait({
  arrivalsPerSecond,
  servers,
  busy,
}: Record<"arrivalsPerSecond" | "servers" | "busy", number>): WaitPercentiles {
  const station = { arrivalsPerSecond, servers, serviceS: busy / arrivalsPerSecond };
  const waits = simulateWaits(station, SIMULATED_ARRIVALS, createRandom(SEED)).toSorted((a, b) => a - b);
  const at = (part: number): number => (waits[Math.floor(waits.length * part)] ?? 0) * 1_000;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
