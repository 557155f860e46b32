/**
 * `npm run bench`: Waymark against the hand-written baseline on a million jobs, row by row of the budgets.
 * Options: --jobs=N --fresh --rounds=N --only=list10,update (or filters) --write --profile (CPU profiles of both servers).
 */
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { assertAgreement } from "./agreement.ts";
import { openBenchDatabase } from "./database.ts";
import { tableOf, writeReport } from "./report.ts";
import { filterRows, rows, type Result } from "./rows.ts";
import { startLoad, startServer } from "./servers.ts";
import { createWorkload } from "./workload.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    fresh: { type: "boolean", default: false },
    rounds: { type: "string", default: "7" },
    only: { type: "string" },
    write: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
  },
});

const folder = resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../.waymark-bench"));
const jobs = Number(options.jobs);
const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

await using database = await openBenchDatabase({ folder, jobs, fresh: options.fresh, onProgress });
const workload = await createWorkload(database);
const execArgv = options.profile ? ["--cpu-prof", `--cpu-prof-dir=${join(folder, "profiles")}`] : [];
await using waymark = await startServer("waymark", database.url, execArgv);
await using baseline = await startServer("baseline", database.url, execArgv);
await using load = startLoad();
const bench = { load, postmasterPid: database.postmasterPid, rounds: Number(options.rounds) };

await assertAgreement([waymark, baseline], [...workload.lists(60, 10), ...workload.lists(12, 100)]);
const asked = options.only?.split(",");
const chosen = [...rows, ...(asked ? filterRows : [])].filter(
  ({ id }) => !asked || asked.some((name) => id === name || id.startsWith(`${name} `)),
);
const results: Result[] = [];
for (const row of chosen) {
  onProgress(row.id);
  results.push(await row.run({ folder, bench, database, workload, waymark, baseline }));
  console.error(tableOf(results.slice(-1)).split("\n").at(-1));
}

const day = new Date().toISOString().slice(0, 10);
const heading = `${day}, ${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}, ${jobs.toLocaleString("en")} jobs, ${options.rounds} rounds.`;
console.log(`\n${heading}\n\n${tableOf(results)}`);
if (options.write) await writeReport(heading, results);
