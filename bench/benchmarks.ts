/** The benchmarks of the REST table: both sides of each comparison, and its budget. */
import type { BenchDatabase } from "./database.ts";
import { peakMemoryMb } from "./process-usage.ts";
import { compare, type Bench, type Comparison } from "./comparison.ts";
import type { BenchServer } from "./servers.ts";
import { measureStartup } from "./startup-cost.ts";
import { filterNames, type Workload } from "./workload.ts";

export interface BenchContext {
  folder: string;
  bench: Bench;
  database: BenchDatabase;
  workload: Workload;
  waymark: BenchServer;
  baseline: BenchServer;
}

export interface Budget {
  text: string;
  /** The measured figure that the budget limits. */
  value: number;
  holds: boolean;
}

export interface BenchmarkResult {
  name: string;
  comparison: Comparison | null;
  budgets: Budget[];
}

export interface Benchmark {
  /** The name for `--only`. */
  id: string;
  run(context: BenchContext): Promise<BenchmarkResult>;
}

const CONNECTIONS = 16;
const BATCH_CONNECTIONS = 4;
const BATCH = 100;
/** The page that the deep-page benchmark reads; it follows 50,000 jobs. A smaller run reads its last page. */
const DEEP_PAGE = 5_000;

export const atLeast = (value: number, limit: number, of: string): Budget => ({
  text: `${of} ≥ ${limit}`,
  value,
  holds: value >= limit,
});
const atMost = (value: number, limit: number, of: string): Budget => ({
  text: `${of} ≤ ${limit}`,
  value,
  holds: value <= limit,
});

function listBenchmark(
  id: string,
  name: string,
  {
    count,
    pageSize,
    filters = filterNames,
  }: { count: number; pageSize: number; filters?: typeof filterNames },
): Benchmark {
  return {
    id,
    async run({ bench, workload, waymark, baseline }) {
      const requests = () => workload.lists(count, pageSize, filters);
      const comparison = await compare(
        bench,
        CONNECTIONS,
        { server: waymark, requests },
        { server: baseline, requests },
      );
      const { ratios } = comparison;
      return {
        name,
        comparison,
        budgets: [
          atLeast(ratios.requests.median, 0.9, "requests/s"),
          atMost(ratios.p99Ms.median, 1.5, "p99"),
        ],
      };
    },
  };
}

function updateBenchmark(
  id: string,
  name: string,
  { count, limit, batch }: { count: number; limit: number; batch: number },
): Benchmark {
  return {
    id,
    async run({ bench, workload, waymark, baseline }) {
      const requests = () => (batch > 1 ? workload.batches(count, batch) : workload.updates(count));
      const connections = batch > 1 ? BATCH_CONNECTIONS : CONNECTIONS;
      const comparison = await compare(
        bench,
        connections,
        { server: waymark, requests },
        { server: baseline, requests },
      );
      return { name, comparison, budgets: [atLeast(comparison.ratios.requests.median, limit, "requests/s")] };
    },
  };
}

/** Compares the CPU time of two kinds of request on the same Waymark process. */
function cpuBenchmark(
  id: string,
  name: string,
  limit: number,
  requests: (context: BenchContext) => {
    a: () => ReturnType<Workload["page"]>;
    b: () => ReturnType<Workload["page"]>;
  },
): Benchmark {
  return {
    id,
    async run(context) {
      const { a, b } = requests(context);
      const { bench, waymark: server } = context;
      const comparison = await compare(bench, CONNECTIONS, { server, requests: a }, { server, requests: b });
      return { name, comparison, budgets: [atMost(comparison.ratios.cpu.median, limit, "CPU")] };
    },
  };
}

export const benchmarks: Benchmark[] = [
  listBenchmark("list10", "GET /v1/jobs, 10 items, mixed filters", { count: 3_000, pageSize: 10 }),
  listBenchmark("list100", "GET /v1/jobs, 100 items, mixed filters", { count: 1_200, pageSize: 100 }),
  cpuBenchmark(
    "biggest",
    "the largest organisation (a) and a small one (b), 10 items, no filter",
    2,
    ({ database, workload }) => {
      const biggest = database.organizations[0] as { key: string };
      const small = database.organizations.at(-1) as { key: string };
      return { a: () => workload.page(1_500, biggest.key, 1), b: () => workload.page(1_500, small.key, 1) };
    },
  ),
  cpuBenchmark(
    "deep",
    `page ${DEEP_PAGE} (a) and page 1 (b), 10 items, the largest organisation`,
    5,
    ({ database, workload }) => {
      const { key, jobs } = database.organizations[0] as { key: string; jobs: number };
      const page = Math.min(DEEP_PAGE, Math.floor(jobs / 10));
      return { a: () => workload.page(200, key, page), b: () => workload.page(1_000, key, 1) };
    },
  ),
  {
    id: "lookup",
    async run({ bench, database, workload, waymark: server }) {
      const largest = database.organizations[0] as { id: string; key: string };
      const lookUps = { server, requests: () => workload.lookUps(1_000, largest, BATCH) };
      const lists = { server, requests: () => workload.page(1_000, largest.key, 1, BATCH) };
      const comparison = await compare(bench, CONNECTIONS, lookUps, lists);
      const { requests, cpu } = comparison.ratios;
      return {
        name: "POST /v1/jobs/lookup of 100 (a) and a list of 100 (b), the largest organisation",
        comparison,
        budgets: [atLeast(requests.median, 0.83, "requests/s"), atMost(cpu.median, 1.2, "CPU")],
      };
    },
  },
  updateBenchmark("update", "PATCH one", { count: 1_500, limit: 0.7, batch: 1 }),
  updateBenchmark("batch", "PATCH batch of 100", { count: 60, limit: 0.8, batch: BATCH }),
  {
    id: "loop",
    async run({ bench, workload, waymark, baseline }) {
      const batches = { server: waymark, requests: () => workload.batches(30, BATCH) };
      const loops = { server: baseline, requests: () => workload.batches(8, BATCH, "?loop") };
      const comparison = await compare(bench, BATCH_CONNECTIONS, batches, loops);
      const name = "PATCH batch of 100 (a) and a loop of transactions (b)";
      return { name, comparison, budgets: [atLeast(comparison.ratios.requests.median, 6, "requests/s")] };
    },
  },
  {
    id: "memory",
    async run({ waymark }) {
      await Promise.resolve();
      const name = "peak memory of Waymark's process in this run, MB";
      return { name, comparison: null, budgets: [atMost(peakMemoryMb(waymark.pid), 250, "resident")] };
    },
  },
  {
    id: "start",
    async run({ folder }) {
      const { cpuS, wallS } = await measureStartup(folder);
      const name = `start to first response on an existing data folder, CPU seconds of all processes (${wallS.toFixed(1)} s elapsed)`;
      return { name, comparison: null, budgets: [atMost(cpuS, 3, "CPU s")] };
    },
  },
];

/** One benchmark per filter and page size, to explain the mixed ones. They run only with `--only=filters`. */
export const filterBenchmarks: Benchmark[] = filterNames.flatMap((filter) =>
  [10, 100].map((pageSize) =>
    listBenchmark(`filters ${filter} ${pageSize}`, `GET /v1/jobs, ${pageSize} items, ${filter}`, {
      count: pageSize === 10 ? 1_500 : 800,
      pageSize,
      filters: [filter],
    }),
  ),
);
