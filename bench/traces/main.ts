/**
 * `npm run bench:traces`: the cost of tracing. Compares a server without traces alternately with one that keeps 0 %, 1 % or all of
 * them. Options: --jobs=N --fresh --rounds=N --write (into docs/engineering).
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openBenchDatabase } from "../database.ts";
import { reportHeading, writeReport } from "../report.ts";
import { compare, type Comparison, type Ratio } from "../comparison.ts";
import { WAYMARK_NODE_FLAGS, startLoadGenerator, startServer } from "../servers.ts";
import { createWorkload } from "../workload.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "100000" },
    fresh: { type: "boolean", default: false },
    rounds: { type: "string", default: "7" },
    write: { type: "boolean", default: false },
  },
});

const CONNECTIONS = 16;
const SAMPLING_RATIOS = ["0", "0.01", "1"];

const folder = resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../../.waymark-bench"));
const [jobs, rounds] = [Number(options.jobs), Number(options.rounds)];
const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

await using opened = new AsyncDisposableStack();
const database = opened.use(await openBenchDatabase({ folder, jobs, fresh: options.fresh, onProgress }));
const workload = await createWorkload(database);
const collectorUrl = await startDiscardingCollector(opened);
const load = opened.use(startLoadGenerator());
const bench = { load, postmasterPid: database.postmasterPid, rounds };
const rows = [
  { name: "list of 10", requests: () => workload.lists(1_500, 10) },
  { name: "update of one job", requests: () => workload.updates(750) },
];

const lines = [
  "| traces kept | request | requests/s with, without | p99 ms with, without | CPU µs of Node with, without | of PostgreSQL |",
  "|---|---|---|---|---|---|",
];
for (const ratio of SAMPLING_RATIOS) {
  // Start both anew, so that neither is warmed up.
  await using off = await startServer("waymark", database.url, WAYMARK_NODE_FLAGS);
  await using on = await startServer("waymark", database.url, WAYMARK_NODE_FLAGS, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
    OTEL_TRACES_SAMPLER_ARG: ratio,
  });
  for (const { name, requests } of rows) {
    onProgress(`${ratio}, ${name}`);
    const comparison = await compare(bench, CONNECTIONS, { server: on, requests }, { server: off, requests });
    lines.push(formatLine(`${Number(ratio) * 100} %`, name, comparison));
    console.error(lines.at(-1));
  }
}

const heading = reportHeading(`${jobs.toLocaleString("en")} jobs`, `${rounds} rounds`);
console.log(`\n${heading}\n\n${lines.join("\n")}`);
if (options.write) await writeReport("traces", heading, lines.join("\n"));

/** Starts an OTLP collector that discards everything, and returns its URL. */
async function startDiscardingCollector(scope: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request
      .resume()
      .on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function formatLine(keptShare: string, name: string, { a, b, ratios }: Comparison): string {
  const cell = (digits: number, of: keyof typeof a): string =>
    `${a[of].toFixed(digits)}, ${b[of].toFixed(digits)}; × ${formatSpread(ratios[of])}`;
  const cells = [
    keptShare,
    name,
    cell(0, "requests"),
    cell(1, "p99Ms"),
    cell(0, "nodeUs"),
    cell(0, "postgresUs"),
  ];
  return `| ${cells.join(" | ")} |`;
}

function formatSpread({ median, min, max }: Ratio): string {
  return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
}
