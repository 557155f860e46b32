/**
 * `npm run bench`: compares Waymark with the hand-written baseline and with other products.
 * Options: --jobs=N --deliveries=N --fresh --rounds=N --only=list10,update (or filters, graphql, deliveries, backlog, latency)
 * --engines=graphile-worker,bare-loop --write (tables of which all rows ran) --profile (CPU profiles of both servers).
 */
import { parseArgs } from "node:util";
import { compareRows } from "./compare.ts";
import { countStatements, openPostgres, type BenchPostgres } from "./database.ts";
import { measureBacklog } from "./deliveries/backlog.ts";
import { createDeliveryDataset } from "./deliveries/dataset.ts";
import { measureLatency } from "./deliveries/latency.ts";
import { startDeliveryServers, startSink } from "./deliveries/processes.ts";
import { onProgress } from "./environment.ts";
import { installPeers } from "./install-peers.ts";
import { publish, type ReportPart } from "./report.ts";
import { filterRows, graphqlRows, restRows, type Row } from "./rows.ts";

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

const [jobs, deliveries, rounds] = [Number(options.jobs), Number(options.deliveries), Number(options.rounds)];
const only = options.only?.split(",");

/** True if `--only` names one of `names`, or is not given. */
const isChosen = (...names: string[]): boolean => !only || names.some((name) => only.includes(name));
const rest = [...restRows, ...(only ? filterRows : [])].filter(({ id }) => isChosen(id));
const graphql = graphqlRows.filter(({ id }) => isChosen(id, "graphql"));
const deliveryParts = {
  backlog: isChosen("backlog", "deliveries"),
  latency: isChosen("latency", "deliveries"),
};
const hasDeliveries = Object.values(deliveryParts).includes(true);

if (hasDeliveries || graphql.some(({ b }) => b.server.startsWith("peers/"))) await installPeers(onProgress);
await using postgres = await openPostgres();
const tables: Record<"jobs" | "graphql", readonly Row[]> = { jobs: restRows, graphql: graphqlRows };
if (rest.length > 0) await reportRows("jobs", rest, options.fresh);
if (graphql.length > 0) await reportRows("graphql", graphql, options.fresh && rest.length === 0);
if (hasDeliveries) await reportDeliveries(postgres);

async function reportRows(part: keyof typeof tables, rows: readonly Row[], fresh: boolean): Promise<void> {
  const table = await compareRows(rows, postgres, { jobs, fresh, rounds, profile: options.profile });
  const isWhole = tables[part].every((row) => rows.includes(row));
  await report(part, `${jobs.toLocaleString("en")} jobs`, table, isWhole);
}

async function reportDeliveries(server: BenchPostgres): Promise<void> {
  await using servers = await startDeliveryServers(server);
  await using sink = await startSink();
  const size = `${deliveries.toLocaleString("en")} deliveries`;
  await using dataset = await createDeliveryDataset(server, { events: deliveries, sinkUrl: sink.url });
  const bench = { servers, dataset, sink, takeCounts: await countStatements(dataset.client) };
  const engines = options.engines?.split(",") ?? null;
  if (deliveryParts.backlog) {
    const table = await measureBacklog(bench, { deliveries, rounds, only: engines });
    await report("backlog", size, table, engines === null);
  }
  if (deliveryParts.latency) await report("latency", size, await measureLatency(bench, rounds));
}

async function report(part: ReportPart, size: string, table: string, isWhole = true): Promise<void> {
  await publish(part, [size, `${rounds} rounds`], table, options.write && isWhole);
}
