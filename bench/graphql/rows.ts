/** The rows of GraphQL: what is compared with what, and the budget of each. */
import { compare, type Bench, type Comparison, type Side } from "../rounds.ts";
import { atLeast, type Budget, type Result } from "../rows.ts";
import type { BenchServer } from "../servers.ts";
import type { GraphqlWorkload } from "./workload.ts";

export type ServerName = "waymark" | "baseline" | "graphql/server-postgraphile" | "graphql/server-mercurius";

export interface GraphqlStage {
  bench: Bench;
  workload: GraphqlWorkload;
  /** Started when it is first asked for. */
  server: (name: ServerName) => Promise<BenchServer>;
}

export interface GraphqlRow {
  /** For `--only`. */
  id: string;
  run(stage: GraphqlStage): Promise<Result>;
}

const CONNECTIONS = 16;
const BATCH_CONNECTIONS = 4;
const DASHBOARDS = 600;
const SMALL = 3_000;
const BATCHES = 60;

type Requests = (workload: GraphqlWorkload) => Side["requests"];

interface Against {
  id: string;
  name: string;
  server: ServerName;
  /** What Waymark is asked, and the other. */
  asked: { a: Requests; b: Requests };
  /** Of Waymark's requests a second to the other's. */
  limit: number | null;
  connections?: number;
}

function against({ id, name, server, asked, limit, connections = CONNECTIONS }: Against): GraphqlRow {
  return {
    id,
    async run({ bench, workload, server: start }) {
      const a = { server: await start("waymark"), requests: asked.a(workload) };
      const b = { server: await start(server), requests: asked.b(workload) };
      const comparison = await compare(bench, connections, a, b);
      return { name, comparison, budgets: budgetOf(comparison, limit) };
    },
  };
}

function budgetOf({ ratios }: Comparison, limit: number | null): Budget[] {
  const { median } = ratios.requests;
  return limit === null ? [{ text: "", value: median, holds: true }] : [atLeast(median, limit, "requests/s")];
}

const same = (requests: Requests): Against["asked"] => ({ a: requests, b: requests });
const dashboards: Requests = (workload) => () => workload.dashboards(DASHBOARDS);
const page = "50 jobs with organisations and history";

export const graphqlRows: GraphqlRow[] = [
  against({
    id: "postgraphile",
    name: `GraphQL, ${page}; b: PostGraphile 5`,
    server: "graphql/server-postgraphile",
    asked: { a: dashboards, b: (workload) => () => workload.postgraphileDashboards(DASHBOARDS) },
    limit: 2,
  }),
  against({
    id: "by-hand",
    name: `GraphQL, ${page}; b: by hand`,
    server: "baseline",
    asked: same(dashboards),
    limit: 0.7,
  }),
  against({
    id: "mercurius",
    name: `GraphQL, ${page}; b: Mercurius with jit`,
    server: "graphql/server-mercurius",
    asked: same(dashboards),
    limit: null,
  }),
  against({
    id: "one-job",
    name: "GraphQL, viewer and one job; b: by hand",
    server: "baseline",
    asked: same((workload) => () => workload.oneJob(SMALL)),
    limit: null,
  }),
  against({
    id: "stats",
    name: "GraphQL, jobStats by status; b: by hand",
    server: "baseline",
    asked: same((workload) => () => workload.stats(SMALL)),
    limit: null,
  }),
  against({
    id: "updates",
    name: "GraphQL, updateJobs of 100; b: Waymark's PATCH batch of 100",
    server: "waymark",
    asked: {
      a: (workload) => () => workload.updates(BATCHES),
      b: (workload) => () => workload.restUpdates(BATCHES),
    },
    limit: null,
    connections: BATCH_CONNECTIONS,
  }),
];
