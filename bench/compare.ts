/** Runs rows of the REST and GraphQL tables: Waymark against another server, or against itself, in turn. */
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import type { BenchPostgres } from "./database.ts";
import { dataFolder, onProgress } from "./environment.ts";
import { seedAgentHistories } from "./graphql/history-seed.ts";
import { createGraphqlWorkload } from "./graphql/requests.ts";
import type { LoadRequest } from "./load.ts";
import { processCpuUs } from "./process-usage.ts";
import { formatBudgets, formatNumber, formatTable, type Judged } from "./report.ts";
import {
  graphqlRows,
  type ComparisonRow,
  type Figures,
  type Requests,
  type Row,
  type ServerName,
} from "./rows.ts";
import { openJobs, type JobsDatabase } from "./seed.ts";
import { startLoadGenerator, startServer, type BenchServer, type LoadGenerator } from "./servers.ts";
import { measureInTurn, medianOf, percentile, ratioOf } from "./statistics.ts";
import { createWorkload } from "./workload.ts";

export interface CompareOptions {
  jobs: number;
  fresh: boolean;
  rounds: number;
  profile: boolean;
}

const WARM_UPS = 2;
/** Requests of a row that both sides must answer alike. Lists use each filter six times. */
const COMPARED = 36;
const HEAD = [
  "row",
  "budget",
  "measured",
  "requests/s a, b",
  "p50 ms a, b",
  "p99 ms a, b",
  "CPU µs per request, Node + PostgreSQL: a, b",
];

/** Returns the table of the rows. */
export async function compareRows(
  rows: readonly Row[],
  postgres: BenchPostgres,
  options: CompareOptions,
): Promise<string> {
  await using database = await openJobs(postgres, options);
  const requests = await createRequests(rows, database);
  await using opened = new AsyncDisposableStack();
  const servers = new Map<ServerName, BenchServer>();
  const flags = options.profile ? ["--cpu-prof", `--cpu-prof-dir=${join(dataFolder, "profiles")}`] : [];
  const start = async (name: ServerName): Promise<BenchServer> => {
    const server = servers.get(name) ?? opened.use(await startServer(name, database.url, { flags }));
    servers.set(name, server);
    return server;
  };
  const load = opened.use(startLoadGenerator());
  const lines: string[][] = [];
  for (const row of rows) {
    onProgress(row.id);
    if ("measure" in row) {
      const { name, value } = await row.measure(await start("waymark"));
      lines.push([name, ...formatBudgets([{ ...row.budget, value }]), "", "", "", ""]);
    } else {
      const sides = [row.a, row.b].map(({ server, requests: make }) => ({
        server,
        make: () => make(requests),
      }));
      const [a, b] = await Promise.all(
        sides.map(async ({ server, make }) => ({ server: await start(server), make })),
      );
      if (!a || !b) continue;
      if (row.view) await assertEqualAnswers(row.view, a, b, row.a.requests === row.b.requests);
      const measure = (side: RunningSide): Promise<Figures> =>
        measureRound({ load, postgres }, row.connections, side);
      const [ofA = [], ofB = []] = await measureInTurn(
        [a, b],
        { warmUps: WARM_UPS, rounds: options.rounds },
        measure,
      );
      lines.push(formatComparison(row, ofA, ofB));
    }
    console.error(lines.at(-1)?.join(" | "));
  }
  return formatTable([HEAD, ...lines]);
}

async function createRequests(rows: readonly Row[], database: JobsDatabase): Promise<Requests> {
  const rest = await createWorkload(database);
  const needsHistory = rows.some(({ id }) => graphqlRows.some((row) => row.id === id));
  const agents = needsHistory ? await seedAgentHistories(database) : [];
  return { rest, graphql: createGraphqlWorkload(rest, agents), organizations: database.organizations };
}

export interface RunningSide {
  server: BenchServer;
  /** Makes new requests; called once a round. */
  make: () => LoadRequest[];
}

/** Throws if the answers of the sides differ after `view`. Both sides get the same random requests. */
async function assertEqualAnswers(
  view: (data: unknown) => unknown,
  a: RunningSide,
  b: RunningSide,
  isSameRequest: boolean,
): Promise<void> {
  const requests = a.make().slice(0, COMPARED);
  const others = isSameRequest ? requests : b.make();
  for (const [at, request] of requests.entries()) {
    const answers = [
      view(await fetchData(a.server, request)),
      view(await fetchData(b.server, others[at] as LoadRequest)),
    ];
    if (!isDeepStrictEqual(answers[0], answers[1]))
      throw new Error(
        `${a.server.name} and ${b.server.name} differ at ${request.path}: ${JSON.stringify(answers)}`,
      );
  }
}

async function fetchData(server: BenchServer, { method, path, key, body }: LoadRequest): Promise<unknown> {
  const headers = { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) };
  const response = await fetch(server.url + path, { method, headers, body: body ?? null });
  const answer = (await response.json()) as { data?: unknown; errors?: unknown };
  if (response.status !== 200 || answer.errors || !answer.data)
    throw new Error(`${server.name} answers ${response.status}: ${JSON.stringify(answer)}`);
  return answer.data;
}

/** Sends each request once, in a closed loop. Throws if one fails. */
export async function measureRound(
  { load, postgres }: { load: LoadGenerator; postgres: BenchPostgres },
  connections: number,
  { server, make }: RunningSide,
): Promise<Figures> {
  const requests = make();
  const phase = { name: "round", connections, seconds: null, rate: null };
  const before = { node: processCpuUs(server.pid), postgres: postgres.cpuUs() };
  const sent = await load.run({ url: server.url, requests, phases: [phase] });
  const after = { node: processCpuUs(server.pid), postgres: postgres.cpuUs() };
  const failed = sent.filter(({ status }) => status !== 200).map(({ status }) => status);
  if (failed.length > 0) throw new Error(`${server.name} failed under load: ${failed.join()}`);
  const latenciesMs = sent.map(({ sentMs, answeredMs }) => answeredMs - sentMs);
  return {
    requests: (sent.length / Math.max(...sent.map(({ answeredMs }) => answeredMs))) * 1000,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    nodeUs: (after.node - before.node) / sent.length,
    postgresUs: (after.postgres - before.postgres) / sent.length,
  };
}

const formatCpu = ({ nodeUs, postgresUs }: Figures): string =>
  `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}`;

function formatComparison(
  { name, budgets }: ComparisonRow,
  ofA: readonly Figures[],
  ofB: readonly Figures[],
): string[] {
  const [a, b] = [medianOf<keyof Figures>(ofA), medianOf<keyof Figures>(ofB)];
  const ratio = (figure: keyof Figures | "cpu") =>
    ratioOf(ofA, ofB, (figures) =>
      figure === "cpu" ? figures.nodeUs + figures.postgresUs : figures[figure],
    );
  const { median, min, max } = ratio("requests");
  const judged: Judged[] = budgets.map((budget) => ({ ...budget, value: ratio(budget.figure).median }));
  const pair = (of: keyof Figures): string => `${formatNumber(a[of])}, ${formatNumber(b[of])}`;
  return [
    name,
    ...formatBudgets(judged.length > 0 ? judged : [{ of: "", value: median }]),
    `${pair("requests")} (${formatNumber(min)} to ${formatNumber(max)})`,
    pair("p50Ms"),
    pair("p99Ms"),
    `${formatCpu(a)}, ${formatCpu(b)}; × ${formatNumber(ratio("cpu").median)}`,
  ];
}
