/** Measures the cost of each operation at one size. */
import { measureRound } from "../compare.ts";
import { countStatements, type BenchPostgres, type StatementCounts } from "../database.ts";
import { pointEndpoints } from "../deliveries/dataset.ts";
import { drain, type DrainFigures } from "../deliveries/drain.ts";
import { startDeliveryServers, startEngine, startSink } from "../deliveries/processes.ts";
import { onProgress } from "../environment.ts";
import { startLoadGenerator, startServer } from "../servers.ts";
import { measureInTurn, medianOf } from "../statistics.ts";
import { MESSAGES, type GrowthDataset } from "./dataset.ts";
import { createGrowthRows } from "./rows.ts";

/** The cost of one operation in microseconds, pages and bytes. */
export interface OperationCost {
  id: string;
  name: string;
  isBounded: boolean;
  /** Null if the database is too small for this operation. */
  figures: CostFigures | null;
}

export interface CostFigures {
  nodeUs: number;
  postgresUs: number;
  /** Null for deliveries. */
  counts: Omit<StatementCounts, "calls"> | null;
}

/** Reads run before these, because changes leave dead rows. */
const CHANGES = new Set(["update", "batch"]);

/** Returns the costs in the order of the table. */
export async function measureSize(
  postgres: BenchPostgres,
  dataset: GrowthDataset,
  rounds: number,
): Promise<OperationCost[]> {
  const rows = await createGrowthRows(dataset);
  const takeCounts = await countStatements(dataset.client);
  const costs = new Map<string, CostFigures | null>();
  await using server = await startServer("waymark", dataset.url);
  await using load = startLoadGenerator();
  for (const { id, name, connections, make } of rows.toSorted(
    (a, b) => Number(CHANGES.has(a.id)) - Number(CHANGES.has(b.id)),
  )) {
    onProgress(name);
    costs.set(id, null);
    if (!make) continue;
    await measureRound({ load, postgres }, connections, { server, make });
    await takeCounts();
    const measure = () => measureRound({ load, postgres }, connections, { server, make });
    const [measured = []] = await measureInTurn([server], { warmUps: 0, rounds }, measure);
    const { hit, read, walBytes } = await takeCounts();
    const requests = make().length * rounds;
    const counts = { hit: hit / requests, read: read / requests, walBytes: walBytes / requests };
    const { nodeUs, postgresUs } = medianOf<"nodeUs" | "postgresUs">(measured);
    costs.set(id, { nodeUs, postgresUs, counts });
  }
  const delivery = await measureDelivery(postgres, { dataset, rounds, takeCounts });
  return [
    ...rows.map(({ id, name, isBounded }) => ({ id, name, isBounded, figures: costs.get(id) ?? null })),
    { id: "delivery", name: "delivery, of a backlog of 10,000", isBounded: true, figures: delivery },
  ];
}

/** Measures a worker that sends a backlog for events spread over the whole table. */
async function measureDelivery(
  postgres: BenchPostgres,
  options: { dataset: GrowthDataset; rounds: number; takeCounts: () => Promise<StatementCounts> },
): Promise<CostFigures> {
  const { dataset, rounds, takeCounts } = options;
  onProgress("deliveries");
  await using servers = await startDeliveryServers(postgres);
  await using sink = await startSink();
  await pointEndpoints(dataset.client, sink.url);
  await using engine = await startEngine("waymark", dataset.url, servers);
  const bench = { servers, dataset, sink, takeCounts };
  const [drains = []] = await measureInTurn([engine], { warmUps: 1, rounds }, () =>
    drain(bench, engine, { deliveries: MESSAGES, keepsLog: true }),
  );
  const { nodeUs, postgresUs } = medianOf<keyof DrainFigures>(drains);
  return { nodeUs, postgresUs, counts: null };
}
