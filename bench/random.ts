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

/** Returns the time until the next of events that come at random, `perSecond` on average. */
export function exponentialGapMs(perSecond: number): number {
  return (-Math.log(1 - Math.random()) * 1_000) / perSecond;
}

export function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
