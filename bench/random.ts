/** Random numbers. Those of a generator are reproducible by its seed. */

/** Returns a mulberry32 generator of numbers from 0 (inclusive) to 1 (exclusive). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a Poisson-distributed count with this mean. */
export function poisson(mean: number, random: () => number): number {
  if (mean <= 0) return 0;
  if (mean > NORMAL_APPROXIMATION_FROM)
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
}

/** Above this mean a normal distribution is a close approximation, and faster. */
const NORMAL_APPROXIMATION_FROM = 12;

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Returns the time until the next of events that come at random, `perSecond` on average. */
export function exponentialGapMs(perSecond: number): number {
  return (-Math.log(1 - Math.random()) * 1_000) / perSecond;
}
