/** The rows of the REST and the GraphQL table: both sides of each comparison, and its budgets. */
import type { GraphqlWorkload } from "./graphql/requests.ts";
import type { LoadRequest } from "./load.ts";
import { peakMemoryMb } from "./process-usage.ts";
import type { BenchOrganization } from "./seed.ts";
import type { BenchServer } from "./servers.ts";
import { measureStartup } from "./startup-cost.ts";
import { filterNames, type Workload } from "./workload.ts";

export type ServerName = "waymark" | "baseline" | "peers/server-postgraphile" | "peers/server-mercurius";

export interface Requests {
  rest: Workload;
  graphql: GraphqlWorkload;
  /** The organisations, largest first. */
  organizations: readonly BenchOrganization[];
}

export interface Side {
  server: ServerName;
  /** Makes new requests; called once a round. */
  requests: (from: Requests) => LoadRequest[];
}

export interface Figures {
  /** Requests per second. */
  requests: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU microseconds per request: the server's process, and PostgreSQL. */
  nodeUs: number;
  postgresUs: number;
}

/** A limit of a figure, for a comparison the median ratio of a to b. */
export interface Budget {
  of: string;
  min?: number;
  max?: number;
}

export interface ComparisonRow {
  /** The name for `--only`. */
  id: string;
  name: string;
  a: Side;
  b: Side;
  connections: number;
  budgets: readonly (Budget & { figure: keyof Figures | "cpu" })[];
  /** Returns what both sides must answer alike. Null: their answers differ, or change data. */
  view: ((data: unknown) => unknown) | null;
}

/** A row with one figure, and nothing to compare with. */
export interface FigureRow {
  id: string;
  budget: Budget;
  measure: (waymark: BenchServer) => Promise<{ name: string; value: number }>;
}

export type Row = ComparisonRow | FigureRow;

const CONNECTIONS = 16;
const BATCH_CONNECTIONS = 4;
const BATCH = 100;
/** The page that the deep-page row reads; it follows 50,000 jobs. A smaller run reads its last page. */
const DEEP_PAGE = 5_000;
const DASHBOARD_REQUESTS = 600;
const SMALL_REQUESTS = 3_000;

const speed = (min: number): ComparisonRow["budgets"] => [{ figure: "requests", of: "requests/s", min }];
const slowest = (max: number): ComparisonRow["budgets"] => [{ figure: "p99Ms", of: "p99", max }];
const cpu = (max: number): ComparisonRow["budgets"] => [{ figure: "cpu", of: "CPU", max }];

type RowOptions = Pick<ComparisonRow, "a" | "b"> & Partial<ComparisonRow>;

const compareRow = (id: string, name: string, options: RowOptions): ComparisonRow => ({
  id,
  name,
  connections: CONNECTIONS,
  budgets: [],
  view: null,
  ...options,
});

/** The same requests for Waymark (a) and another server (b). */
const against = (server: ServerName, requests: Side["requests"]): Pick<ComparisonRow, "a" | "b"> => ({
  a: { server: "waymark", requests },
  b: { server, requests },
});

/** Waymark against itself. */
const alone = (a: Side["requests"], b: Side["requests"]): Pick<ComparisonRow, "a" | "b"> => ({
  a: { server: "waymark", requests: a },
  b: { server: "waymark", requests: b },
});

function listRow(
  id: string,
  name: string,
  {
    count,
    pageSize,
    filters = filterNames,
  }: { count: number; pageSize: number; filters?: typeof filterNames | [(typeof filterNames)[number]] },
): ComparisonRow {
  return compareRow(id, name, {
    ...against("baseline", ({ rest }) => rest.lists(count, pageSize, filters)),
    budgets: pageSize === 10 ? [...speed(0.8), ...slowest(1.4)] : [...speed(0.9), ...slowest(1.5)],
    view: listView,
  });
}

const at = (from: Requests, index: number): BenchOrganization =>
  from.organizations.at(index) as BenchOrganization;
const largestPage =
  (count: number, pageSize = 10): Side["requests"] =>
  (from) =>
    from.rest.page(count, at(from, 0).key, 1, pageSize);

export const restRows: readonly Row[] = [
  listRow("list10", "GET /v1/jobs, 10 items, mixed filters", { count: 3_000, pageSize: 10 }),
  listRow("list100", "GET /v1/jobs, 100 items, mixed filters", { count: 1_200, pageSize: 100 }),
  compareRow("biggest", "the largest organisation (a) and a small one (b), 10 items, no filter", {
    ...alone(largestPage(1_500), (from) => from.rest.page(1_500, at(from, -1).key, 1)),
    budgets: cpu(2),
  }),
  compareRow("deep", `page ${DEEP_PAGE} (a) and page 1 (b), 10 items, the largest organisation`, {
    ...alone((from) => {
      const { key, jobs } = at(from, 0);
      return from.rest.page(200, key, Math.min(DEEP_PAGE, Math.floor(jobs / 10)));
    }, largestPage(1_000)),
    budgets: cpu(5),
  }),
  compareRow("lookup", "POST /v1/jobs/lookup of 100 (a) and a list of 100 (b), the largest organisation", {
    ...alone((from) => from.rest.lookUps(1_000, at(from, 0), BATCH), largestPage(1_000, BATCH)),
    budgets: [...speed(0.9), ...cpu(1.2)],
  }),
  compareRow("update", "PATCH one", {
    ...against("baseline", ({ rest }) => rest.updates(1_500)),
    budgets: speed(0.8),
  }),
  compareRow("batch", "PATCH batch of 100", {
    ...against("baseline", ({ rest }) => rest.batches(60, BATCH)),
    connections: BATCH_CONNECTIONS,
    budgets: speed(0.9),
  }),
  compareRow("loop", "PATCH batch of 100 (a) and a loop of transactions (b)", {
    a: { server: "waymark", requests: ({ rest }) => rest.batches(30, BATCH) },
    b: { server: "baseline", requests: ({ rest }) => rest.batches(8, BATCH, "?loop") },
    connections: BATCH_CONNECTIONS,
    budgets: speed(6),
  }),
  {
    id: "memory",
    budget: { of: "resident", max: 250 },
    measure: async ({ pid }) =>
      await Promise.resolve({
        name: "peak memory of Waymark's process in this run, MB",
        value: peakMemoryMb(pid),
      }),
  },
  {
    id: "start",
    budget: { of: "CPU s", max: 2 },
    async measure() {
      const { cpuS, wallS } = await measureStartup();
      const name = `start to first response on an existing data folder, CPU seconds of all processes (${wallS.toFixed(1)} s elapsed)`;
      return { name, value: cpuS };
    },
  },
];

/** One row per filter and page size, to explain the mixed ones. They run only with `--only=filters`. */
export const filterRows: readonly Row[] = filterNames.flatMap((filter) =>
  [10, 100].map((pageSize) =>
    listRow("filters", `GET /v1/jobs, ${pageSize} items, ${filter}`, {
      count: pageSize === 10 ? 1_500 : 800,
      pageSize,
      filters: [filter],
    }),
  ),
);

const page = "50 jobs with organisations and history";
const dashboards: Side["requests"] = ({ graphql }) => graphql.dashboards(DASHBOARD_REQUESTS);
const same = (data: unknown): unknown => data;

export const graphqlRows: readonly ComparisonRow[] = [
  compareRow("postgraphile", `GraphQL, ${page}; b: PostGraphile 5`, {
    a: { server: "waymark", requests: dashboards },
    b: {
      server: "peers/server-postgraphile",
      requests: ({ graphql }) => graphql.postgraphileDashboards(DASHBOARD_REQUESTS),
    },
    budgets: speed(1.5),
    view: dashboardView,
  }),
  compareRow("by-hand", `GraphQL, ${page}; b: hand-written`, {
    ...against("baseline", dashboards),
    budgets: speed(0.6),
    view: same,
  }),
  compareRow("mercurius", `GraphQL, ${page}; b: Mercurius with jit`, {
    ...against("peers/server-mercurius", dashboards),
    budgets: speed(0.9),
    view: same,
  }),
  compareRow("one-job", "GraphQL, viewer and one job; b: hand-written", {
    ...against("baseline", ({ graphql }) => graphql.oneJob(SMALL_REQUESTS)),
    budgets: speed(0.3),
    view: same,
  }),
  compareRow("stats", "GraphQL, jobStats by status; b: hand-written", {
    ...against("baseline", ({ graphql }) => graphql.stats(SMALL_REQUESTS)),
    budgets: speed(0.4),
    view: same,
  }),
];

/** Selects the items and the total of a list. */
function listView(data: unknown): unknown {
  const { items, pagination } = data as { items: unknown[]; pagination: { total: number } };
  return [items, pagination.total];
}

interface Page {
  nodes: Record<string, unknown>[];
}

const nameOf = (organization: unknown): unknown => (organization as { name: string } | null)?.name ?? null;

/** Converts a dashboard of Waymark or PostGraphile to one format, without ids, which the two encode differently. */
function dashboardView(data: unknown): unknown {
  const { jobs, allJobs } = data as { jobs?: Page; allJobs?: Page };
  return (jobs ?? allJobs)?.nodes.map((job) => {
    const { nodes } = (job["history"] ?? job["jobEventsByJobId"]) as Page;
    return [
      job["markingNumber"],
      job["deliveryAddress"],
      job["version"],
      nameOf(job["agent"] ?? job["organizationByAgentId"]),
      nameOf(job["contractor"] ?? job["organizationByContractorId"]),
      nodes.map(({ sequence, changes }) => [sequence, Object.keys(changes as object).length]),
    ];
  });
}
