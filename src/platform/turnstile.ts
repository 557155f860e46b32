/** A turnstile: so many are inside at once, the others wait in the order in which they came. */

export type Turnstile = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurnstile(places: number): Turnstile {
  const waiting: (() => void)[] = [];
  let free = places;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
