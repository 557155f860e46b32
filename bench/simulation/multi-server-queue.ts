/** A queue with random arrivals and several servers (M/M/c), in virtual time. */
export interface QueueingStation {
  arrivalsPerSecond: number;
  servers: number;
  /** Mean service time; service times are exponentially distributed. */
  serviceS: number;
}

/** Returns the waiting time of each customer in seconds, in order of arrival. */
export function simulateWaits(
  { arrivalsPerSecond, servers, serviceS }: QueueingStation,
  customers: number,
  random: () => number,
): number[] {
  const freeAtS = Array.from({ length: servers }, () => 0);
  const waits: number[] = [];
  let nowS = 0;
  for (let customer = 0; customer < customers; customer += 1) {
    nowS += exponential(random) / arrivalsPerSecond;
    const first = indexOfMin(freeAtS);
    const beginsS = Math.max(nowS, freeAtS[first] as number);
    waits.push(beginsS - nowS);
    freeAtS[first] = beginsS + exponential(random) * serviceS;
  }
  return waits;
}

function exponential(random: () => number): number {
  return -Math.log(1 - random());
}

function indexOfMin(freeAtS: readonly number[]): number {
  let first = 0;
  for (let at = 1; at < freeAtS.length; at += 1)
    if ((freeAtS[at] as number) < (freeAtS[first] as number)) first = at;
  return first;
}
