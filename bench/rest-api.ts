/** The REST benchmarks: Waymark against the hand-written baseline, on a million jobs by default. */
import { join } from "node:path";
import { assertEqualResponses } from "./response-equality-check.ts";
import { openBenchDatabase } from "./database.ts";
import { formatResults } from "./report.ts";
import { filterBenchmarks, benchmarks, type BenchmarkResult } from "./benchmarks.ts";
import { WAYMARK_NODE_FLAGS, startLoadGenerator, startServer } from "./servers.ts";
import { createWorkload } from "./workload.ts";

export interface RestApiOptions {
  folder: string;
  jobs: number;
  fresh: boolean;
  rounds: number;
  /** Ids of the benchmarks to run; undefined runs all except those per filter. */
  only: readonly string[] | undefined;
  profile: boolean;
  onProgress: (text: string) => void;
}

export async function measureRestApi(options: RestApiOptions): Promise<BenchmarkResult[]> {
  const { folder, profile, onProgress, only } = options;
  await using database = await openBenchDatabase(options);
  const workload = await createWorkload(database);
  const execArgv = profile ? ["--cpu-prof", `--cpu-prof-dir=${join(folder, "profiles")}`] : [];
  await using waymark = await startServer("waymark", database.url, [...WAYMARK_NODE_FLAGS, ...execArgv]);
  await using baseline = await startServer("baseline", database.url, execArgv);
  await using load = startLoadGenerator();
  const bench = { load, postmasterPid: database.postmasterPid, rounds: options.rounds };

  await assertEqualResponses([waymark, baseline], [...workload.lists(60, 10), ...workload.lists(12, 100)]);
  const chosen = [...benchmarks, ...(only ? filterBenchmarks : [])].filter(
    ({ id }) => !only || only.some((name) => id === name || id.startsWith(`${name} `)),
  );
  const results: BenchmarkResult[] = [];
  for (const row of chosen) {
    onProgress(row.id);
    results.push(await row.run({ folder, bench, database, workload, waymark, baseline }));
    console.error(formatResults(results.slice(-1)).split("\n").at(-1));
  }
  return results;
}
