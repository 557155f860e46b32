/** The benchmarks of the GraphQL table: both sides of each comparison, and its budget. */
import { compare, type Bench, type Comparison, type ComparisonSide } from "../comparison.ts";
import { atLeast, type Budget, type BenchmarkResult } from "../benchmarks.ts";
import type { BenchServer } from "../servers.ts";
import type { GraphqlWorkload } from "./workload.ts";

export type ServerName = "waymark" | "baseline" | "peers/server-postgraphile" | "peers/server-mercurius";

export interface GraphqlBenchContext {
  bench: Bench;
  workload: GraphqlWorkload;
  /** Starts the server at the first call. */
  server: (name: ServerName) => Promise<BenchServer>;
}

export interface GraphqlBenchmark {
  /** The name for `--only`. */
  id: string;
  run(context: GraphqlBenchContext): Promise<BenchmarkResult>;
}

const CONNECTIONS = 16;
const BATCH_CONNECTIONS = 4;
const DASHBOARD_REQUESTS = 600;
const SMALL_REQUESTS = 3_000;
const BATCH_REQUESTS = 60;

type Requests = (workload: GraphqlWorkload) => ComparisonSide["requests"];

interface ComparisonOptions {
  id: string;
  name: string;
  server: ServerName;
  /** Requests for Waymark (a) and for the other side (b). */
  requests: { a: Requests; b: Requests };
  /** Minimum ratio of requests per second, a divided by b. */
  limit: number | null;
  connections?: number;
}

function createComparison({
  id,
  name,
  server,
  requests,
  limit,
  connections = CONNECTIONS,
}: ComparisonOptions): GraphqlBenchmark {
  return {
    id,
    async run({ bench, workload, server: start }) {
      const a = { server: await start("waymark"), requests: requests.a(workload) };
      const b = { server: await start(server), requests: requests.b(workload) };
      const comparison = await compare(bench, connections, a, b);
      return { name, comparison, budgets: budgetOf(comparison, limit) };
    },
  };
}

function budgetOf({ ratios }: Comparison, limit: number | null): Budget[] {
  const { median } = ratios.requests;
  return limit === null ? [{ text: "", value: median, holds: true }] : [atLeast(median, limit, "requests/s")];
}

const sameForBoth = (requests: Requests): ComparisonOptions["requests"] => ({ a: requests, b: requests });
const dashboards: Requests = (workload) => () => workload.dashboards(DASHBOARD_REQUESTS);
const page = "50 jobs with organisations and history";

export const graphqlBenchmarks: GraphqlBenchmark[] = [
  createComparison({
    id: "postgraphile",
    name: `GraphQL, ${page}; b: PostGraphile 5`,
    server: "peers/server-postgraphile",
    requests: { a: dashboards, b: (workload) => () => workload.postgraphileDashboards(DASHBOARD_REQUESTS) },
    limit: 2,
  }),
  createComparison({
    id: "by-hand",
    name: `GraphQL, ${page}; b: hand-written`,
    server: "baseline",
    requests: sameForBoth(dashboards),
    limit: 0.7,
  }),
  createComparison({
    id: "mercurius",
    name: `GraphQL, ${page}; b: Mercurius with jit`,
    server: "peers/server-mercurius",
    requests: sameForBoth(dashboards),
    limit: null,
  }),
  createComparison({
    id: "one-job",
    name: "GraphQL, viewer and one job; b: hand-written",
    server: "baseline",
    requests: sameForBoth((workload) => () => workload.oneJob(SMALL_REQUESTS)),
    limit: null,
  }),
  createComparison({
    id: "stats",
    name: "GraphQL, jobStats by status; b: hand-written",
    server: "baseline",
    requests: sameForBoth((workload) => () => workload.stats(SMALL_REQUESTS)),
    limit: null,
  }),
  createComparison({
    id: "updates",
    name: "GraphQL, updateJobs of 100; b: Waymark's PATCH batch of 100",
    server: "waymark",
    requests: {
      a: (workload) => () => workload.updates(BATCH_REQUESTS),
      b: (workload) => () => workload.restUpdates(BATCH_REQUESTS),
    },
    limit: null,
    connections: BATCH_CONNECTIONS,
  }),
];
