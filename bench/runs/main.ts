/**
 * `npm run bench:runs`: latency of live requests while a thousand test jobs change their status every few seconds.
 * Options: --intervals=1000,5000 (ms between two steps), --seconds=15 (of each measurement).
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ConflictError, Waymark } from "../../clients/typescript/src/index.ts";
import { openTargetServer } from "../../scripts/clients/target-server.ts";
import { median, percentile } from "../deliveries/protocol.ts";

const { values: options } = parseArgs({
  options: {
    intervals: { type: "string", default: "1000,5000" },
    seconds: { type: "string", default: "15" },
  },
});
const seconds = Number(options.seconds);
const JOBS = 1_000;
const REQUESTS_PER_SECOND = 50;
const BUDGET = 1.5;

await using folder = await mkdtempDisposable(join(tmpdir(), "waymark-test-runs-"));
await using server = await openTargetServer(folder.path);
const live = new Waymark({ apiKey: server.key, baseUrl: server.url });
const { secret } = await live.apiKeys.create({ name: "runs", mode: "test" });
const { test, jobs: testJobs } = new Waymark({ apiKey: secret ?? "", baseUrl: server.url });
const { items } = await live.jobs.listPage({ page_size: 100 });

/** Sends requests at a steady rate, a list after each change, and returns their latencies in ms. */
async function measureLive(): Promise<number[]> {
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  const startMs = performance.now();
  for (let index = 0; index < seconds * REQUESTS_PER_SECOND; index += 1) {
    const dueMs = startMs + (index * 1_000) / REQUESTS_PER_SECOND;
    await wait(Math.max(0, dueMs - performance.now()));
    const { marking_number: number = "" } = items[index % items.length] ?? {};
    const call = index % 2 === 0 ? live.jobs.update(number, { weight: index }) : live.jobs.listPage();
    pending.push(Promise.resolve(call).then(() => void latencies.push(performance.now() - dueMs)));
  }
  await Promise.all(pending);
  return latencies;
}

/** Creates the test jobs and runs each for longer than a measurement. */
async function startRuns(interval: number): Promise<void> {
  const length = Math.min(50, Math.ceil(((seconds + 30) * 1_000) / interval));
  const steps = Array.from({ length }, (_, at) => (at % 2 === 0 ? "in_transit" : "at_warehouse"));
  for (let created = 0; created < JOBS; created += 100)
    for (const job of await test.createJobs({ count: 100 }))
      await test.run(job.marking_number, { steps, interval_ms: interval });
}

/** The sum of the versions of all test jobs, which grows by one with each step. */
async function sumVersions(): Promise<number> {
  let sum = 0;
  for await (const { version } of testJobs.list()) sum += version;
  return sum;
}

/** Deletes the test jobs as soon as no run is left. */
async function reset(): Promise<void> {
  for (;;) {
    try {
      await test.reset();
      return;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await wait(1_000);
    }
  }
}

const show = (latencies: readonly number[]): string =>
  `p50 ${median(latencies).toFixed(1)} ms, p99 ${percentile(latencies, 0.99).toFixed(1)} ms`;

await measureLive();
for (const interval of options.intervals.split(",").map(Number)) {
  const before = await measureLive();
  await startRuns(interval);
  const first = await sumVersions();
  const startMs = performance.now();
  const during = await measureLive();
  const rate = ((await sumVersions()) - first) / ((performance.now() - startMs) / 1_000);
  const ratio = percentile(during, 0.99) / percentile(before, 0.99);
  console.log(`${JOBS} runs, a step every ${interval} ms: ${rate.toFixed(0)} steps/s`);
  console.log(`  live requests before: ${show(before)}; during: ${show(during)}`);
  console.log(`  p99 × ${ratio.toFixed(2)}, budget ${BUDGET}`);
  if (ratio > BUDGET) process.exitCode = 1;
  await reset();
}
