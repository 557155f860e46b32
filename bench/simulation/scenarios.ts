/** The day of the fleet in virtual time: the peak as it should be, and what lies idle for an hour while it lasts. */
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
/** Looked at after each outage. */
const RECOVERY_S = 6 * HOUR_S;
const SEED = 42;

const outages: { name: string; of: SimulatedOutage["target"]; afterwardsS: number }[] = [
  { name: "the peak hour, nothing amiss", of: "nothing", afterwardsS: 0 },
  {
    name: "the biggest organisation's receiver away for the hour",
    of: "receiver",
    afterwardsS: RECOVERY_S,
  },
  { name: "all workers away for the hour", of: "workers", afterwardsS: RECOVERY_S },
  { name: "MongoDB away for the hour", of: "mongo", afterwardsS: RECOVERY_S },
];

/** Each outage lasts for the hour around the busiest minute. */
export function runScenarios(
  organizations: readonly SimulatedOrganization[],
  capacityPerSecond: number,
  assumptions: Assumptions,
): Scenario[] {
  const startS = busiestSecond(organizations, assumptions.nightShare) - HOUR_S / 2;
  return outages.map(({ name, of: target, afterwardsS }) => ({
    name,
    isOutage: target !== "nothing",
    outcome: simulateQueues({
      organizations,
      assumptions,
      capacityPerSecond,
      outage: { target, fromS: 0, untilS: HOUR_S },
      startS,
      lengthS: HOUR_S + afterwardsS,
      random: createRandom(SEED),
    }),
  }));
}

export interface WaitPercentiles {
  p50Ms: number;
  p99Ms: number;
}

const SIMULATED_ARRIVALS = 200_000;

/** How long a statement waits for a core of the primary at the peak, and a delivery for its worker's only thread. */
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

/** `busy`: servers that are in use on average. */
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
