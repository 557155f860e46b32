/** Runs the GraphQL benchmarks: all with `--only=graphql`, or some by id. */
import { join } from "node:path";
import { openBenchDatabase } from "../database.ts";
import { formatResults } from "../report.ts";
import type { BenchmarkResult } from "../benchmarks.ts";
import { WAYMARK_NODE_FLAGS, startLoadGenerator, startServer, type BenchServer } from "../servers.ts";
import { createWorkload } from "../workload.ts";
import { assertEqualData, dashboardView } from "./response-equality-check.ts";
import { seedAgentHistories } from "./history-seed.ts";
import {
  graphqlBenchmarks,
  type GraphqlBenchmark,
  type GraphqlBenchContext,
  type ServerName,
} from "./benchmarks.ts";
import { createGraphqlWorkload } from "./workload.ts";

export interface GraphqlOptions {
  folder: string;
  jobs: number;
  fresh: boolean;
  rounds: number;
  profile: boolean;
  onProgress: (text: string) => void;
}

/** Returns the benchmarks that `--only` names. */
export function selectGraphqlBenchmarks(only: readonly string[] | undefined): GraphqlBenchmark[] {
  return graphqlBenchmarks.filter(({ id }) => !only || only.includes("graphql") || only.includes(id));
}

export async function measureGraphql(
  rows: readonly GraphqlBenchmark[],
  options: GraphqlOptions,
): Promise<BenchmarkResult[]> {
  const { folder, profile, rounds, onProgress } = options;
  await using database = await openBenchDatabase(options);
  const agents = await seedAgentHistories(database);
  const workload = createGraphqlWorkload(await createWorkload(database), agents);
  const execArgv = profile ? ["--cpu-prof", `--cpu-prof-dir=${join(folder, "profiles")}`] : [];
  await using stack = new AsyncDisposableStack();
  const servers = new Map<ServerName, BenchServer>();
  const context: GraphqlBenchContext = {
    bench: { load: stack.use(startLoadGenerator()), postmasterPid: database.postmasterPid, rounds },
    workload,
    async server(name) {
      const known = servers.get(name);
      const flags = name === "waymark" ? [...WAYMARK_NODE_FLAGS, ...execArgv] : execArgv;
      const server = known ?? stack.use(await startServer(name, database.url, flags));
      servers.set(name, server);
      return server;
    },
  };
  await assertEqualResponses(context);
  const results: BenchmarkResult[] = [];
  for (const row of rows) {
    onProgress(row.id);
    results.push(await row.run(context));
    console.error(formatResults(results.slice(-1)).split("\n").at(-1));
  }
  return results;
}

async function assertEqualResponses({ workload, server }: GraphqlBenchContext): Promise<void> {
  const [waymark, baseline] = [await server("waymark"), await server("baseline")];
  const mercurius = await server("peers/server-mercurius");
  const postgraphile = await server("peers/server-postgraphile");
  const others = workload.postgraphileDashboards(8);
  for (const [at, request] of workload.dashboards(8).entries()) {
    await assertEqualData([waymark, baseline, mercurius].map((one) => ({ server: one, request })));
    const other = { server: postgraphile, request: others[at] as typeof request };
    await assertEqualData([{ server: waymark, request }, other], dashboardView);
  }
  for (const request of [...workload.oneJob(8), ...workload.stats(4)])
    await assertEqualData([waymark, baseline].map((one) => ({ server: one, request })));
}
