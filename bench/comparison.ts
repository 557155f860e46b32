/** Measures two sides alternately, so that other load on the machine affects both, and compares them by the median ratio. */
import { processCpuUs, processTreeCpuUs } from "./process-usage.ts";
import type { LoadRequest } from "./load.ts";
import type { BenchServer, LoadGenerator } from "./servers.ts";

export interface ComparisonSide {
  server: BenchServer;
  /** Makes new requests; called once a round. */
  requests: () => LoadRequest[];
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

export interface Comparison {
  /** Medians over all rounds. */
  a: Figures;
  b: Figures;
  /** a divided by b, computed per round. */
  ratios: Record<keyof Figures | "cpu", Ratio>;
}

export interface Ratio {
  median: number;
  min: number;
  max: number;
}

export interface Bench {
  load: LoadGenerator;
  postmasterPid: number | null;
  rounds: number;
}

const WARM_UP_ROUNDS = 2;

export async function compare(
  bench: Bench,
  connections: number,
  a: ComparisonSide,
  b: ComparisonSide,
): Promise<Comparison> {
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    for (const side of [a, b]) await measureRound(bench, connections, side);
  }
  const ofA: Figures[] = [];
  const ofB: Figures[] = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    const measureA = async (): Promise<unknown> => ofA.push(await measureRound(bench, connections, a));
    const measureB = async (): Promise<unknown> => ofB.push(await measureRound(bench, connections, b));
    for (const turn of round % 2 === 0 ? [measureA, measureB] : [measureB, measureA]) await turn();
  }
  const ratio = (of: (figures: Figures) => number): Ratio => {
    const ratios = ofA.map((figures, at) => of(figures) / of(ofB[at] as Figures));
    return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
  };
  return {
    a: medianFigures(ofA),
    b: medianFigures(ofB),
    ratios: {
      requests: ratio((figures) => figures.requests),
      p50Ms: ratio((figures) => figures.p50Ms),
      p99Ms: ratio((figures) => figures.p99Ms),
      nodeUs: ratio((figures) => figures.nodeUs),
      postgresUs: ratio((figures) => figures.postgresUs),
      cpu: ratio((figures) => figures.nodeUs + figures.postgresUs),
    },
  };
}

export async function measureRound(
  { load, postmasterPid }: Bench,
  connections: number,
  { server, requests }: ComparisonSide,
): Promise<Figures> {
  const cpuOfPostgres = (): number => (postmasterPid === null ? Number.NaN : processTreeCpuUs(postmasterPid));
  const sent = requests();
  const before = { node: processCpuUs(server.pid), postgres: cpuOfPostgres() };
  const { wallMs, latenciesMs, failures } = await load.run({ url: server.url, connections, requests: sent });
  if (Object.keys(failures).length > 0)
    throw new Error(`${server.name} failed under load: ${JSON.stringify(failures)}`);
  const sorted = latenciesMs.toSorted((first, second) => first - second);
  return {
    requests: (sent.length / wallMs) * 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    nodeUs: (processCpuUs(server.pid) - before.node) / sent.length,
    postgresUs: (cpuOfPostgres() - before.postgres) / sent.length,
  };
}

export function medianFigures(all: readonly Figures[]): Figures {
  const of = (name: keyof Figures): number => median(all.map((figures) => figures[name]));
  return {
    requests: of("requests"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    nodeUs: of("nodeUs"),
    postgresUs: of("postgresUs"),
  };
}

function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
