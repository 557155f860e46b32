/** The rows of the API: Waymark against the hand-written baseline on a million jobs. */
import { join } from "node:path";
import { assertAgreement } from "./agreement.ts";
import { openBenchDatabase } from "./database.ts";
import { tableOf } from "./report.ts";
import { filterRows, rows, type Result } from "./rows.ts";
import { STARTED_WITH, startLoad, startServer } from "./servers.ts";
import { createWorkload } from "./workload.ts";

export interface JobsOptions {
  folder: string;
  jobs: number;
  fresh: boolean;
  rounds: number;
  /** Ids of rows; undefined: all but those of the filters. */
  only: readonly string[] | undefined;
  profile: boolean;
  onProgress: (text: string) => void;
}

export async function measureJobs(options: JobsOptions): Promise<Result[]> {
  const { folder, profile, onProgress, only } = options;
  await using database = await openBenchDatabase(options);
  const workload = await createWorkload(database);
  const execArgv = profile ? ["--cpu-prof", `--cpu-prof-dir=${join(folder, "profiles")}`] : [];
  await using waymark = await startServer("waymark", database.url, [...STARTED_WITH, ...execArgv]);
  await using baseline = await startServer("baseline", database.url, execArgv);
  await using load = startLoad();
  const bench = { load, postmasterPid: database.postmasterPid, rounds: options.rounds };

  await assertAgreement([waymark, baseline], [...workload.lists(60, 10), ...workload.lists(12, 100)]);
  const chosen = [...rows, ...(only ? filterRows : [])].filter(
    ({ id }) => !only || only.some((name) => id === name || id.startsWith(`${name} `)),
  );
  const results: Result[] = [];
  for (const row of chosen) {
    onProgress(row.id);
    results.push(await row.run({ folder, bench, database, workload, waymark, baseline }));
    console.error(tableOf(results.slice(-1)).split("\n").at(-1));
  }
  return results;
}
