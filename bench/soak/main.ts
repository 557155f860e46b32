/**
 * `npm run bench:soak`: runs mixed traffic at a steady rate on two APIs and two workers, then checks the assertions.
 * Options: --minutes=20 --load=1 (multiplies the rates of plan.ts) --write (into docs/engineering). Exits with 1 if an
 * assertion fails.
 */
import { parseArgs } from "node:util";
import { reportHeading, writeReport } from "../report.ts";
import { runSoak } from "./run.ts";
import { formatSoakReport } from "./tables.ts";
import { evaluateSoak } from "./assertions.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    load: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});

const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);
// The cluster's processes are in their own process groups, so Ctrl-C must stop them through this signal.
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => stopping.abort());
const [minutes, load] = [Number(options.minutes), Number(options.load)];
const result = await runSoak({ minutes, load, signal: stopping.signal, onProgress });
const verdicts = evaluateSoak(result);
const report = formatSoakReport(result, verdicts);
const heading = reportHeading(`${options.minutes} minutes`);
console.log(`\n${heading}\n\n${report}`);
if (options.write) await writeReport("soak", heading, report);
process.exitCode = verdicts.every(({ holds }) => holds) ? 0 : 1;
