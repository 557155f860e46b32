/**
 * `npm run bench:replicas [-- --jobs=N --rounds=N --requests=N --only=list10,list100,stats --fresh --write]`: compares an API
 * process whose lists a streaming standby answers with one without a replica, and measures the standby's share while jobs change.
 * It uses the database of `npm run bench`; the standby is a full copy.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openBenchDatabase } from "../database.ts";
import { reportHeading, writeReport } from "../report.ts";
import { startLoadGenerator, startServer, WAYMARK_NODE_FLAGS } from "../servers.ts";
import { createWorkload } from "../workload.ts";
import { createGraphqlWorkload } from "../graphql/workload.ts";
import { compareSides, measureSharesUnderChanges, type ReplicaBench } from "./measure.ts";
import { primaryFlags, startStandby } from "./standby.ts";
import { formatReplicas } from "./tables.ts";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "7" },
    requests: { type: "string", default: "2000" },
    only: { type: "string" },
    fresh: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

const folder = resolve(process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../../.waymark-bench"));
const [jobs, rounds, requests] = [Number(options.jobs), Number(options.rounds), Number(options.requests)];
const startedMs = performance.now();
const onProgress = (text: string): void =>
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);

await using database = await openBenchDatabase({
  folder,
  jobs,
  fresh: options.fresh,
  flags: primaryFlags,
  onProgress,
});
onProgress("standby");
await using standby = await startStandby({ dataDir: folder, primaryUrl: database.url });
await standby.catchUp();
const env = { DATABASE_REPLICA_URLS: standby.url };
await using withReplica = await startServer("waymark", database.url, WAYMARK_NODE_FLAGS, env);
await using without = await startServer("waymark", database.url, WAYMARK_NODE_FLAGS);
await using load = startLoadGenerator();
await using changes = startLoadGenerator();

const rest = await createWorkload(database);
const agents = database.organizations.filter(({ type }) => type === "agent");
const graphql = createGraphqlWorkload(rest, agents);
const rows = [
  { id: "list10", name: "REST list of 10, all filters", requests: () => rest.lists(requests, 10) },
  { id: "list100", name: "REST list of 100, all filters", requests: () => rest.lists(requests, 100) },
  { id: "stats", name: "GraphQL, jobStats by status", requests: () => graphql.stats(requests) },
].filter(({ id }) => options.only?.split(",").includes(id) ?? true);

const bench: ReplicaBench = {
  load,
  changes,
  rounds,
  withReplica,
  without,
  primaryPid: database.postmasterPid,
  standbyPid: standby.pid,
};
const compared = [];
for (const row of rows) {
  onProgress(row.name);
  compared.push({ name: row.name, ...(await compareSides(bench, row.requests)) });
}
onProgress("measuring lists while jobs change");
const shares = await measureSharesUnderChanges(bench, {
  lists: () => rest.lists(requests, 10),
  updates: () => rest.updates(requests),
});
const tables = formatReplicas(compared, shares);
console.log(`\n${tables}\n`);
if (options.write)
  await writeReport(
    "replicas",
    reportHeading(`${jobs.toLocaleString("en")} jobs`, `${rounds} rounds`),
    tables,
  );
