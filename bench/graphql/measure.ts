/** The GraphQL rows: `--only=graphql` or the ids of some. */
import { join } from "node:path";
import { openBenchDatabase } from "../database.ts";
import { tableOf } from "../report.ts";
import type { Result } from "../rows.ts";
import { STARTED_WITH, startLoad, startServer, type BenchServer } from "../servers.ts";
import { createWorkload } from "../workload.ts";
import { assertSameData, dashboardView } from "./agreement.ts";
import { agentsWithHistories } from "./histories.ts";
import { graphqlRows, type GraphqlRow, type GraphqlStage, type ServerName } from "./rows.ts";
import { createGraphqlWorkload } from "./workload.ts";

export interface GraphqlOptions {
  folder: string;
  jobs: number;
  fresh: boolean;
  rounds: number;
  profile: boolean;
  onProgress: (text: string) => void;
}

/** The rows that `--only` asks for. */
export function graphqlRowsOf(only: readonly string[] | undefined): GraphqlRow[] {
  return graphqlRows.filter(({ id }) => !only || only.includes("graphql") || only.includes(id));
}

export async function measureGraphql(
  rows: readonly GraphqlRow[],
  options: GraphqlOptions,
): Promise<Result[]> {
  const { folder, profile, rounds, onProgress } = options;
  await using database = await openBenchDatabase(options);
  const agents = await agentsWithHistories(database);
  const workload = createGraphqlWorkload(await createWorkload(database), agents);
  const execArgv = profile ? ["--cpu-prof", `--cpu-prof-dir=${join(folder, "profiles")}`] : [];
  await using stack = new AsyncDisposableStack();
  const servers = new Map<ServerName, BenchServer>();
  const stage: GraphqlStage = {
    bench: { load: stack.use(startLoad()), postmasterPid: database.postmasterPid, rounds },
    workload,
    async server(name) {
      const known = servers.get(name);
      const flags = name === "waymark" ? [...STARTED_WITH, ...execArgv] : execArgv;
      const server = known ?? stack.use(await startServer(name, database.url, flags));
      servers.set(name, server);
      return server;
    },
  };
  await assertAgreement(stage);
  const results: Result[] = [];
  for (const row of rows) {
    onProgress(row.id);
    results.push(await row.run(stage));
    console.error(tableOf(results.slice(-1)).split("\n").at(-1));
  }
  return results;
}

async function assertAgreement({ workload, server }: GraphqlStage): Promise<void> {
  const [waymark, baseline] = [await server("waymark"), await server("baseline")];
  const mercurius = await server("graphql/server-mercurius");
  const postgraphile = await server("graphql/server-postgraphile");
  const others = workload.postgraphileDashboards(8);
  for (const [at, request] of workload.dashboards(8).entries()) {
    await assertSameData([waymark, baseline, mercurius].map((one) => ({ server: one, request })));
    const other = { server: postgraphile, request: others[at] as typeof request };
    await assertSameData([{ server: waymark, request }, other], dashboardView);
  }
  for (const request of [...workload.oneJob(8), ...workload.stats(4)])
    await assertSameData([waymark, baseline].map((one) => ({ server: one, request })));
}
