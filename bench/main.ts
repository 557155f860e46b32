/**
 * `npm run bench`: Waymark against what its budgets compare it with, row by row.
 * Options: --jobs=N --deliveries=N --fresh --rounds=N --only=list10,update (or filters, graphql, deliveries, backlog, latency, growth)
 * --engines=graphile-worker,bare-loop --write --profile (CPU profiles of both servers).
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { deliveryParts, measureDeliveries } from "./deliveries/measure.ts";
import { graphqlRowsOf, measureGraphql } from "./graphql/measure.ts";
import { measureJobs } from "./jobs.ts";
import { headingOf, tableOf, withFormerRows, writeReport, type ReportPart } from "./report.ts";
import type { Result } from "./rows.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    deliveries: { type: "string", default: "50000" },
    fresh: { type: "boolean", default: false },
    rounds: { type: "string", default: "7" },
    only: { type: "string" },
    engines: { type: "string" },
    write: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
  },
});

const folder = resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../.waymark-bench"));
const [jobs, deliveries, rounds] = [Number(options.jobs), Number(options.deliveries), Number(options.rounds)];
const only = options.only?.split(",");
const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

const parts = deliveryParts(only);
const graphqlRows = graphqlRowsOf(only);
const others = new Set<string>(["deliveries", "graphql", ...parts, ...graphqlRows.map(({ id }) => id)]);
const jobRows = only?.filter((name) => !others.has(name));
const { fresh, profile } = options;
if (!jobRows || jobRows.length > 0) {
  const measured = { folder, jobs, fresh, rounds, only: jobRows, profile, onProgress };
  await tellRows("jobs", await measureJobs(measured));
}
if (graphqlRows.length > 0) {
  const measured = { folder, jobs, fresh: fresh && jobRows?.length === 0, rounds, profile, onProgress };
  await tellRows("graphql", await measureGraphql(graphqlRows, measured));
}
if (parts.length > 0) {
  const engines = options.engines?.split(",") ?? null;
  const tables = await measureDeliveries(parts, { folder, deliveries, rounds, engines, onProgress });
  for (const [part, table] of tables)
    await tell(part, `${deliveries.toLocaleString("en")} deliveries`, table);
}

async function tellRows(part: ReportPart, results: readonly Result[]): Promise<void> {
  const table = tableOf(results);
  const shown = options.write ? await withFormerRows(part, table) : table;
  await tell(part, `${jobs.toLocaleString("en")} jobs`, shown);
}

async function tell(part: ReportPart, size: string, table: string): Promise<void> {
  const heading = headingOf(size, `${rounds} rounds`);
  console.log(`\n${heading}\n\n${table}`);
  if (options.write) await writeReport(part, heading, table);
}
