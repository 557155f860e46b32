import { expect, it } from "vitest";
import { createBackgroundQueue } from "../../../src/core/concurrency/background-queue.ts";
import { createLogger } from "../../../src/core/logger.ts";

it("runs work in order, one at a time, and disposing waits for it", async () => {
  const done: number[] = [];
  {
    await using queue = createBackgroundQueue(createLogger("silent"));
    const first = Promise.withResolvers<void>();
    queue.run("first", async () => {
      await first.promise;
      done.push(1);
    });
    queue.run("second", () => Promise.resolve(void done.push(2)));
    expect(done).toEqual([]);
    first.resolve();
  }
  expect(done).toEqual([1, 2]);
});

it("continues after a failure, and logs it without database values", async () => {
  const lines: string[] = [];
  const queue = createBackgroundQueue(createLogger("error", { write: (line) => void lines.push(line) }));
  let isDone = false;
  queue.run("a request", () =>
    Promise.reject(Object.assign(new Error("broken"), { detail: "Key (email)=(a@test.example) exists" })),
  );
  queue.run("another", () => Promise.resolve(void (isDone = true)));
  await queue[Symbol.asyncDispose]();
  expect(isDone).toBe(true);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"work":"a request"');
  expect(lines[0]).not.toContain("test.example");
});

it("rejects work while 1,000 entries are pending", async () => {
  const queue = createBackgroundQueue(createLogger("silent"));
  const gate = Promise.withResolvers<void>();
  for (let count = 0; count < 1_000; count += 1) queue.run("work", () => gate.promise);
  expect(() => queue.run("one more", () => gate.promise)).toThrow(/overloaded/);
  gate.resolve();
  await queue[Symbol.asyncDispose]();
  expect(() => queue.run("again", () => Promise.resolve())).not.toThrow();
});
