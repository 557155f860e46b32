/**
 * `npm run bench:overload`: responses and latency at three times the server's capacity.
 * Options: --jobs=N --fresh --seconds=60 (of overload) --only=lists,mixed --write (into docs/engineering). Exits with 1
 * if a budget is missed.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openBenchDatabase } from "../database.ts";
import { reportHeading, writeReport } from "../report.ts";
import { pinToCore, cores } from "./cpu-affinity.ts";
import { measureOverload } from "./measure.ts";
import { findBrokenPromises, formatRecovery, tableHead, formatOverload, formatVerdict } from "./tables.ts";
import { createTraffic, mixtures, type Mixture } from "./traffic.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    fresh: { type: "boolean", default: false },
    seconds: { type: "string", default: "60" },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});

const folder = resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../../.waymark-bench"));
const [jobs, seconds] = [Number(options.jobs), Number(options.seconds)];
/** In a shorter run one slow request decides the p99. */
const isJudged = seconds >= 20;
const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

const lines = tableHead();
const recoveries: string[] = [];
const broken: string[] = [];
await using database = await openBenchDatabase({ folder, jobs, fresh: options.fresh, onProgress });
if (database.postmasterPid !== null) pinToCore(cores?.server, database.postmasterPid);
const traffic = await createTraffic(database);
for (const mixture of (options.only?.split(",") ?? mixtures) as Mixture[]) {
  onProgress(mixture);
  const measured = await measureOverload({ database, requests: traffic[mixture], seconds, onProgress });
  lines.push(...formatOverload(mixture, measured));
  recoveries.push(formatRecovery(mixture, measured));
  broken.push(...findBrokenPromises(mixture, measured));
  console.error(lines.join("\n"));
}

const heading = reportHeading(`${jobs.toLocaleString("en")} jobs`, `${seconds} s of overload`);
const verdict = isJudged ? formatVerdict(broken) : "Too short to judge.";
const report = `${lines.join("\n")}\n\n${recoveries.join("\n")}\n\n${verdict}`;
console.log(`\n${heading}\n\n${report}`);
if (options.write) await writeReport("overload", heading, report);
if (isJudged && broken.length > 0) process.exitCode = 1;
