import { expect, it } from "vitest";
import { singleFlight } from "../../../src/platform/concurrency/single-flight.ts";

/** Something that is asked for: how often, and the answers that are still to come. */
function createCountedLoader(ttlMs: number) {
  const calls: PromiseWithResolvers<number>[] = [];
  let nowMs = 0;
  const load = singleFlight(
    () => {
      const answer = Promise.withResolvers<number>();
      calls.push(answer);
      return answer.promise;
    },
    { ttlMs, nowMs: () => nowMs },
  );
  return { ask: load, asked: calls, pass: (ms: number) => void (nowMs += ms) };
}

it("who asks while an answer is under way shares it", async () => {
  const { ask, asked } = createCountedLoader(0);
  const answers = Promise.all([ask(), ask(), ask()]);
  expect(asked).toHaveLength(1);
  asked[0]?.resolve(1);
  expect(await answers).toEqual([1, 1, 1]);
  void ask();
  expect(asked).toHaveLength(2);
});

it("an answer is kept for as long as is said, counted from when it came", async () => {
  const { ask, asked, pass } = createCountedLoader(250);
  const first = ask();
  pass(1_000);
  asked[0]?.resolve(1);
  await first;
  pass(249);
  expect(await ask()).toBe(1);
  pass(1);
  void ask();
  expect(asked).toHaveLength(2);
});

it("a failure is told to those who share it, and is not kept", async () => {
  const { ask, asked } = createCountedLoader(250);
  const failed = [ask(), ask()];
  asked[0]?.reject(new Error("away"));
  for (const each of failed) await expect(each).rejects.toThrow("away");
  void ask();
  expect(asked).toHaveLength(2);
});
