import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { createBackgroundQueue } from "../../../src/platform/concurrency/background-queue.ts";
import { createLogger } from "../../../src/platform/logger.ts";

it("does one after the other, in order, and is waited for", async () => {
  const done: number[] = [];
  {
    await using afterwards = createBackgroundQueue(createLogger("silent"));
    const first = Promise.withResolvers<void>();
    afterwards.run("first", async () => {
      await first.promise;
      done.push(1);
    });
    afterwards.run("second", () => Promise.resolve(void done.push(2)));
    expect(done).toEqual([]);
    first.resolve();
  }
  expect(done).toEqual([1, 2]);
});

it("goes on after a failure, and logs it without the values of rows", async () => {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, next) {
      lines.push(chunk.toString());
      next();
    },
  });
  const afterwards = createBackgroundQueue(createLogger("error", stream));
  let isDone = false;
  afterwards.run("a request", () =>
    Promise.reject(Object.assign(new Error("broken"), { detail: "Key (email)=(a@test.example) exists" })),
  );
  afterwards.run("another", () => Promise.resolve(void (isDone = true)));
  await afterwards.onIdle();
  expect(isDone).toBe(true);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"work":"a request"');
  expect(lines[0]).not.toContain("test.example");
});

it("refuses what is too much, before anything is answered", async () => {
  const afterwards = createBackgroundQueue(createLogger("silent"));
  const gate = Promise.withResolvers<void>();
  for (let waiting = 0; waiting < 1_000; waiting += 1) afterwards.run("work", () => gate.promise);
  expect(() => afterwards.run("one more", () => gate.promise)).toThrow(/overloaded/);
  gate.resolve();
  await afterwards.onIdle();
  expect(() => afterwards.run("again", () => Promise.resolve())).not.toThrow();
});
