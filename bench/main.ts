/**
 * `npm run bench`: compares Waymark with the hand-written baseline and with other products.
 * Options: --jobs=N --deliveries=N --fresh --rounds=N --only=list10,update (or filters, graphql, deliveries, backlog, latency, growth)
 * --engines=graphile-worker,bare-loop --write --profile (CPU profiles of both servers).
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { deliveryParts, measureDeliveries } from "./deliveries/measure.ts";
import { selectGraphqlBenchmarks, measureGraphql } from "./graphql/measure.ts";
import { installPeers } from "./install-peers.ts";
import { measureRestApi } from "./rest-api.ts";
import { reportHeading, formatResults, mergePreviousRows, writeReport, type ReportPart } from "./report.ts";
import type { BenchmarkResult } from "./benchmarks.ts";

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
const graphqlRows = selectGraphqlBenchmarks(only);
const others = new Set<string>(["deliveries", "graphql", ...parts, ...graphqlRows.map(({ id }) => id)]);
const jobRows = only?.filter((name) => !others.has(name));
const { fresh, profile } = options;
if (graphqlRows.length > 0 || parts.length > 0) await installPeers(onProgress);
if (!jobRows || jobRows.length > 0) {
  const measured = { folder, jobs, fresh, rounds, only: jobRows, profile, onProgress };
  await reportBenchmarks("jobs", await measureRestApi(measured));
}
if (graphqlRows.length > 0) {
  const measured = { folder, jobs, fresh: fresh && jobRows?.length === 0, rounds, profile, onProgress };
  await reportBenchmarks("graphql", await measureGraphql(graphqlRows, measured));
}
if (parts.length > 0) {
  const engines = options.engines?.split(",") ?? null;
  const tables = await measureDeliveries(parts, { folder, deliveries, rounds, engines, onProgress });
  for (const [part, table] of tables)
    await report(part, `${deliveries.toLocaleString("en")} deliveries`, table);
}

async function reportBenchmarks(part: ReportPart, results: readonly BenchmarkResult[]): Promise<void> {
  const table = formatResults(results);
  const shown = options.write ? await mergePreviousRows(part, table) : table;
  await report(part, `${jobs.toLocaleString("en")} jobs`, shown);
}

async function report(part: ReportPart, size: string, table: string): Promise<void> {
  const heading = reportHeading(size, `${rounds} rounds`);
  console.log(`\n${heading}\n\n${table}`);
  if (options.write) await writeReport(part, heading, table);
}
