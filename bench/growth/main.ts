/**
 * `npm run bench:growth`: the cost of each operation with 10,000 to 10,000,000 jobs in the database.
 * Options: --sizes=10000,100000 (results of other sizes are kept) --rounds=5 --seed-only --fresh
 * --write (the table of all measured sizes into docs/engineering) --settings=shared_buffers=8GB,… (for PostgreSQL; results
 * with them are printed, but neither kept nor written).
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { postgresFlags, readPostmasterPid } from "../database.ts";
import { machine, today, writeReport } from "../report.ts";
import { measureSize } from "./measure.ts";
import { saveResult, readResults, formatSizes, type SizeResult } from "./results.ts";
import { MESSAGES } from "./seed.ts";
import { openGrowthDataset, type GrowthDataset } from "./dataset.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000,100000,1000000,10000000" },
    rounds: { type: "string", default: "5" },
    "seed-only": { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    settings: { type: "string" },
  },
});

const sizes = options.sizes.split(",").map(Number);
// Each message of the backlog needs its own event, so its own job.
if (!sizes.every((size) => size >= MESSAGES))
  throw new Error(`--sizes=${options.sizes} must be numbers of jobs from ${MESSAGES}, separated by commas`);

const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);
const folder = join(
  resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../../.waymark-bench")),
  "growth",
);
const rounds = Number(options.rounds);
const settings = options.settings?.split(",") ?? [];
const isUsual = settings.length === 0;
const measured: SizeResult[] = [];
await mkdir(folder, { recursive: true });
{
  await using postgres = await openEmbeddedPostgres({
    dataDir: folder,
    exclusive: true,
    postgresFlags: [...postgresFlags, ...settings.flatMap((setting) => ["-c", setting])],
    onProgress,
  });
  for (const jobs of sizes) {
    onProgress(`${jobs.toLocaleString("en")} jobs`);
    await using dataset = await openGrowthDataset({
      serverUrl: postgres.url,
      jobs,
      fresh: options.fresh,
      onProgress,
    });
    if (options["seed-only"]) continue;
    const postmasterPid = await readPostmasterPid(folder);
    const costs = await measureSize(dataset, { folder, postmasterPid, rounds, onProgress });
    const result = { jobs, day: today(), rounds, gigabytes: await sizeOf(dataset), costs };
    if (isUsual) await saveResult(folder, result);
    else measured.push(result);
  }
}
const heading = `${[machine, ...settings].join(", ")}.`;
const table = formatSizes(isUsual ? await readResults(folder) : measured);
console.log(`\n${heading}\n\n${table}`);
if (options.write && isUsual) await writeReport("sizes", heading, table);

async function sizeOf({ client }: GrowthDataset): Promise<number> {
  const { rows } = await client.query<{ gb: number }>(
    "select pg_database_size(current_database()) / 1e9::float8 as gb",
  );
  return rows[0]?.gb ?? 0;
}
