/** Customers who come by chance to a number of servers and wait in one line, in virtual time. */
export interface QueueingStation {
  arrivalsPerSecond: number;
  servers: number;
  /** On average; each takes as long as chance has it (exponential). */
  serviceS: number;
}

/** How long each waited before it was served, in the order in which they came. */
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
