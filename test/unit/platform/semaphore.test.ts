import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import { createFairSemaphore, type FairSemaphore } from "../../../src/platform/concurrency/semaphore.ts";

/** Work that is named when it begins, and ends when the test says. */
function startWork(semaphore: FairSemaphore, started: string[]) {
  const ends: (() => void)[] = [];
  const start = (key: string, name: string): Promise<void> =>
    semaphore(key, async () => {
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      await promise;
    });
  /** Ends the oldest work that runs, and lets what waits begin. */
  const endOldest = async (): Promise<void> => {
    ends.shift()?.();
    await settle();
  };
  return { start, endOldest };
}

// evidence: subscription-events-fair-turns
it("lets keys take turns, however much of one key waits", async () => {
  const begun: string[] = [];
  const { start, endOldest } = startWork(createFairSemaphore({ permits: 2, permitsPerKey: 2 }), begun);
  const all = Array.from({ length: 100 }, (_, at) => start("A", `A${at}`));
  all.push(start("B", "B0"), start("B", "B1"), start("C", "C0"));
  await settle();
  await endOldest();
  await endOldest();
  await endOldest();
  await endOldest();
  expect(begun).toEqual(["A0", "A1", "A2", "B0", "C0", "A3"]);
  for (let at = 0; at < all.length; at += 1) await endOldest();
  await Promise.all(all);
  expect(begun.filter((name) => name.startsWith("A"))).toEqual(
    Array.from({ length: 100 }, (_, at) => `A${at}`),
  );
  expect(begun).toHaveLength(103);
});

// evidence: subscription-events-limit-per-organization
it("never gives one key more than its part, so that another begins at once", async () => {
  const begun: string[] = [];
  const { start, endOldest } = startWork(createFairSemaphore({ permits: 4, permitsPerKey: 3 }), begun);
  const all = Array.from({ length: 10 }, (_, at) => start("A", `A${at}`));
  all.push(start("B", "B0"));
  await settle();
  expect(begun).toEqual(["A0", "A1", "A2", "B0"]);
  for (let at = 0; at < all.length; at += 1) await endOldest();
  await Promise.all(all);
});

it("makes room after work that fails", async () => {
  const turnstile = createFairSemaphore({ permits: 1, permitsPerKey: 1 });
  const failing = turnstile("A", () => Promise.reject(new Error("no")));
  const waiting = turnstile("A", () => Promise.resolve(1));
  await expect(failing).rejects.toThrow("no");
  expect(await waiting).toBe(1);
  expect(await turnstile("B", () => Promise.resolve(2))).toBe(2);
});
