/**
 * `npm run bench:growth`: the cost of each operation with 10,000 to 10,000,000 jobs in the database.
 * Options: --sizes=10000,100000 (results of other sizes are kept) --rounds=5 --fresh --write (the table of all measured sizes into
 * docs/engineering).
 */
import { parseArgs } from "node:util";
import { openPostgres } from "../database.ts";
import { onProgress } from "../environment.ts";
import { machine, publishWithHeading, today } from "../report.ts";
import { MESSAGES, openGrowthDataset } from "./dataset.ts";
import { measureSize } from "./measure.ts";
import { formatSizes, readResults, saveResult } from "./results.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000,100000,1000000,10000000" },
    rounds: { type: "string", default: "5" },
    fresh: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const sizes = options.sizes.split(",").map(Number);
// Each message of the backlog needs its own event, so its own job.
if (!sizes.every((size) => size >= MESSAGES))
  throw new Error(`--sizes=${options.sizes} must be numbers of jobs from ${MESSAGES}, separated by commas`);

const rounds = Number(options.rounds);
await using postgres = await openPostgres();
for (const jobs of sizes) {
  onProgress(`${jobs.toLocaleString("en")} jobs`);
  await using dataset = await openGrowthDataset(postgres, { jobs, fresh: options.fresh });
  const costs = await measureSize(postgres, dataset, rounds);
  const { rows } = await dataset.client.query<{ gigabytes: number }>(
    "select pg_database_size(current_database()) / 1e9::float8 as gigabytes",
  );
  await saveResult({ jobs, day: today(), rounds, gigabytes: rows[0]?.gigabytes ?? 0, costs });
}
await publishWithHeading("sizes", `${machine}.`, formatSizes(await readResults()), options.write);
