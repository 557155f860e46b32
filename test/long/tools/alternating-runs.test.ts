/** The runner of the delivery benchmarks, with an engine that never finishes. */
import { spawn } from "node:child_process";
import { expect, it, onTestFinished } from "vitest";
import { runAlternating } from "../../../bench/deliveries/alternating-runs.ts";
import { nextMessage } from "../../../bench/deliveries/processes.ts";
import { backlogTable } from "../../../bench/deliveries/tables.ts";

const result = {
  perSecond: 100,
  nodeUs: 1,
  postgresUs: 1,
  mongoUs: 0,
  redisUs: 0,
  statements: 0.01,
  duplicates: 0,
};
const side = (name: string) => ({ name, engine: "agenda" as const, deliveries: 500, isHanging: false });

/** Starts a process that never sends a message. */
function hangingEngine() {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

it("excludes an engine that times out, ends its process and measures the others in every round", async () => {
  const engine = hangingEngine();
  const sides = [side("Waymark"), side("Agenda, one task per delivery"), side("bare loop of signed POSTs")];
  const progress: string[] = [];
  let calls = 0;
  const { results, unfinished } = await runAlternating(sides, {
    rounds: 3,
    warmUp: () => Promise.resolve(),
    async run({ name }) {
      if (!name.startsWith("Agenda")) return result;
      calls += 1;
      return await nextMessage<typeof result>(engine, name, 20);
    },
    isReference: ({ name }) => name === "Waymark",
    abandon: () => Promise.resolve(void engine.kill("SIGKILL")),
    onProgress: (text) => progress.push(text),
  });
  expect(calls).toBe(1);
  expect(engine.killed).toBe(true);
  expect(progress).toEqual([expect.stringContaining("Agenda, one task per delivery did not finish")]);
  expect([...results.values()].map(({ length }) => length)).toEqual([3, 0, 3]);
  const table = backlogTable({ sides, drains: results, unfinished, workerMemoryMb: 100 });
  expect(table).toContain("| Agenda, one task per delivery | 500 | | did not finish | | | | |");
  expect(table).toMatch(/\| bare loop of signed POSTs \| 500 \| ≥ 0.5 \| 1/);
});

it("fails if Waymark itself does not finish", async () => {
  const running = runAlternating([side("Waymark")], {
    rounds: 1,
    warmUp: () => Promise.reject(new Error("ended early")),
    run: () => Promise.resolve(result),
    isReference: () => true,
    abandon: () => Promise.resolve(),
    onProgress: () => undefined,
  });
  await expect(running).rejects.toThrow("ended early");
});
