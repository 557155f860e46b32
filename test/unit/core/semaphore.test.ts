import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import { FairSemaphore } from "../../../src/core/concurrency/semaphore.ts";

/** Starts work that adds its name to `started` and runs until `endOldest` ends it. */
function startWork(semaphore: FairSemaphore, started: string[]) {
  const ends: (() => void)[] = [];
  const start = (key: string, name: string): Promise<void> =>
    semaphore.run(key, async () => {
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      await promise;
    });
  /** Ends the oldest running work and lets waiting work start. */
  const endOldest = async (): Promise<void> => {
    ends.shift()?.();
    await settle();
  };
  return { start, endOldest };
}

// evidence: subscription-events-fair-turns
it("alternates between keys, even if one key has a long queue", async () => {
  const started: string[] = [];
  const { start, endOldest } = startWork(new FairSemaphore({ permits: 2, permitsPerKey: 2 }), started);
  const all = Array.from({ length: 100 }, (_, index) => start("A", `A${index}`));
  all.push(start("B", "B0"), start("B", "B1"), start("C", "C0"));
  await settle();
  await endOldest();
  await endOldest();
  await endOldest();
  await endOldest();
  expect(started).toEqual(["A0", "A1", "A2", "B0", "C0", "A3"]);
  for (let index = 0; index < all.length; index += 1) await endOldest();
  await Promise.all(all);
  expect(started.filter((name) => name.startsWith("A"))).toEqual(
    Array.from({ length: 100 }, (_, index) => `A${index}`),
  );
  expect(started).toHaveLength(103);
});

// evidence: subscription-events-limit-per-organization
it("limits one key to its permits, so that another key starts immediately", async () => {
  const started: string[] = [];
  const { start, endOldest } = startWork(new FairSemaphore({ permits: 4, permitsPerKey: 3 }), started);
  const all = Array.from({ length: 10 }, (_, index) => start("A", `A${index}`));
  all.push(start("B", "B0"));
  await settle();
  expect(started).toEqual(["A0", "A1", "A2", "B0"]);
  for (let index = 0; index < all.length; index += 1) await endOldest();
  await Promise.all(all);
});

it("leaves its last permits to keys without one", async () => {
  const started: string[] = [];
  const options = { permits: 4, permitsPerKey: 3, reserved: 1 };
  const { start, endOldest } = startWork(new FairSemaphore(options), started);
  const all = ["A0", "A1", "B0", "A2", "B1", "C0"].map((name) => start(name.slice(0, 1), name));
  await settle();
  expect(started).toEqual(["A0", "A1", "B0", "C0"]);
  // The permit of A0 is now the last one.
  await endOldest();
  expect(started).toHaveLength(4);
  await endOldest();
  expect(started.slice(4)).toEqual(["A2"]);
  for (let index = 0; index < all.length; index += 1) await endOldest();
  await Promise.all(all);
  expect(started).toHaveLength(6);
});

it("releases the permit after work that fails", async () => {
  const semaphore = new FairSemaphore({ permits: 1, permitsPerKey: 1 });
  const failing = semaphore.run("A", () => Promise.reject(new Error("no")));
  const waiting = semaphore.run("A", () => Promise.resolve(1));
  await expect(failing).rejects.toThrow("no");
  expect(await waiting).toBe(1);
  expect(await semaphore.run("B", () => Promise.resolve(2))).toBe(2);
});
