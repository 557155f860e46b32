/** The day of the fleet in virtual time: the peak as it should be, and what lies idle for an hour while it lasts. */
import { randomFrom } from "../random.ts";
import type { Assumptions } from "./assumptions.ts";
import type { FleetSize } from "./fleet.ts";
import { busiestSecond, type Partner } from "./partners.ts";
import { simulateQueues, type Outage, type Outcome } from "./queues.ts";
import { waitsAt } from "./station.ts";

export interface Scenario {
  name: string;
  isOutage: boolean;
  outcome: Outcome;
}

const HOUR_S = 3_600;
/** Looked at after each outage. */
const AFTERWARDS_S = 6 * HOUR_S;
const SEED = 42;

const outages: { name: string; of: Outage["of"]; afterwardsS: number }[] = [
  { name: "the peak hour, nothing amiss", of: "nothing", afterwardsS: 0 },
  {
    name: "the biggest organisation's receiver away for the hour",
    of: "receiver",
    afterwardsS: AFTERWARDS_S,
  },
  { name: "all workers away for the hour", of: "workers", afterwardsS: AFTERWARDS_S },
  { name: "MongoDB away for the hour", of: "mongo", afterwardsS: AFTERWARDS_S },
];

/** Each outage lasts for the hour around the busiest minute. */
export function runScenarios(
  partners: readonly Partner[],
  capacityPerSecond: number,
  assumptions: Assumptions,
): Scenario[] {
  const startS = busiestSecond(partners, assumptions.nightShare) - HOUR_S / 2;
  return outages.map(({ name, of, afterwardsS }) => ({
    name,
    isOutage: of !== "nothing",
    outcome: simulateQueues({
      partners,
      assumptions,
      capacityPerSecond,
      outage: { of, fromS: 0, untilS: HOUR_S },
      startS,
      lengthS: HOUR_S + afterwardsS,
      random: randomFrom(SEED),
    }),
  }));
}

export interface Wait {
  p50Ms: number;
  p99Ms: number;
}

const CUSTOMERS = 200_000;

/** How long a statement waits for a core of the primary at the peak, and a delivery for its worker's only thread. */
export function waitsAtPeak({ load, busyCores, primaryCores, statements, workers }: FleetSize): {
  primary: Wait;
  worker: Wait;
} {
  const attempts = load.deliveries + load.retries;
  return {
    primary: waitOf({
      arrivalsPerSecond: statements,
      servers: Math.ceil(primaryCores.withLists),
      busy: busyCores.primary + busyCores.lists,
    }),
    worker: waitOf({ arrivalsPerSecond: attempts / workers, servers: 1, busy: busyCores.worker / workers }),
  };
}

/** `busy`: servers that are in use on average. */
function waitOf({
  arrivalsPerSecond,
  servers,
  busy,
}: Record<"arrivalsPerSecond" | "servers" | "busy", number>): Wait {
  const station = { arrivalsPerSecond, servers, serviceS: busy / arrivalsPerSecond };
  const waits = waitsAt(station, CUSTOMERS, randomFrom(SEED)).toSorted((a, b) => a - b);
  const at = (part: number): number => (waits[Math.floor(waits.length * part)] ?? 0) * 1_000;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
