/** Measures the cost of each operation at one size. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openEmbeddedMongo } from "../../src/dev/mongo/embedded-mongo.ts";
import { processCpuUs, processTreeCpuUs } from "../process-usage.ts";
import { drain, type DrainResult } from "../deliveries/backlog.ts";
import { median } from "../deliveries/protocol.ts";
import { startEngine, startSink } from "../deliveries/processes.ts";
import { openDeliveryDataset } from "../deliveries/dataset.ts";
import { measureRound, medianFigures } from "../comparison.ts";
import { WAYMARK_NODE_FLAGS, startLoadGenerator, startServer } from "../servers.ts";
import { createGrowthBenchmarks, type GrowthBenchmark } from "./benchmarks.ts";
import { MESSAGES } from "./seed.ts";
import type { GrowthDataset } from "./dataset.ts";

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
  p50Ms: number;
  hit: number;
  read: number;
  walBytes: number;
}

export interface SizeMeasureOptions {
  folder: string;
  postmasterPid: number;
  rounds: number;
  onProgress: (text: string) => void;
}

export async function measureSize(
  dataset: GrowthDataset,
  options: SizeMeasureOptions,
): Promise<OperationCost[]> {
  const { onProgress } = options;
  const costs: OperationCost[] = [];
  const rows = await createGrowthBenchmarks(dataset);
  // Reads run first, because changes leave dead rows.
  const changes = new Set(["update", "batch"]);
  const inOrder = [...rows.filter(({ id }) => !changes.has(id)), ...rows.filter(({ id }) => changes.has(id))];
  await using server = await startServer("waymark", dataset.url, WAYMARK_NODE_FLAGS);
  await using load = startLoadGenerator();
  for (const row of inOrder) {
    onProgress(row.name);
    costs.push(await measureOperation(row, { dataset, options, server, load }));
  }
  onProgress("deliveries");
  costs.push(await measureDelivery(dataset, options));
  const order = new Map([...rows.map(({ id }) => id), "delivery"].map((id, at) => [id, at]));
  return costs.toSorted((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

interface MeasureDeps {
  dataset: GrowthDataset;
  options: SizeMeasureOptions;
  server: Awaited<ReturnType<typeof startServer>>;
  load: ReturnType<typeof startLoadGenerator>;
}

async function measureOperation(
  row: GrowthBenchmark,
  { dataset, options, server, load }: MeasureDeps,
): Promise<OperationCost> {
  const { id, name, isBounded, requests, connections } = row;
  if (!requests) return { id, name, isBounded, figures: null };
  const bench = { load, postmasterPid: options.postmasterPid, rounds: options.rounds };
  const side = { server, requests };
  await measureRound(bench, connections, side);
  await dataset.takeIoCounts();
  const rounds = [];
  for (let round = 0; round < options.rounds; round += 1)
    rounds.push(await measureRound(bench, connections, side));
  const counted = await dataset.takeIoCounts();
  const all = requests().length * options.rounds;
  const { nodeUs, postgresUs, p50Ms } = medianFigures(rounds);
  const figures = {
    nodeUs,
    postgresUs,
    p50Ms,
    hit: counted.hit / all,
    read: counted.read / all,
    walBytes: counted.walBytes / all,
  };
  return { id, name, isBounded, figures };
}

/** Measures a worker that sends a backlog for events spread over the whole table. */
async function measureDelivery(dataset: GrowthDataset, options: SizeMeasureOptions): Promise<OperationCost> {
  const { folder, postmasterPid, rounds, onProgress } = options;
  const cacheHome = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache");
  const sources = { cacheDir: join(cacheHome, "waymark"), binary: null, download: "any" as const };
  await using mongo = openEmbeddedMongo({ dataDir: folder, ...sources, onProgress });
  const env = { MONGODB_URL: await mongo.url };
  const mongodPid = Number(await readFile(join(folder, "mongo", "mongod.lock"), "utf8"));
  const processes = {
    cpu: () => ({ postgres: processTreeCpuUs(postmasterPid), mongo: processCpuUs(mongodPid), redis: 0 }),
  };
  await using sink = await startSink();
  const bench = {
    processes,
    dataset: openDeliveryDataset(dataset.url, dataset.client, await redirectEndpoints(dataset, sink.url)),
    sink,
  };
  await using engine = await startEngine("waymark", dataset.url, { env });
  const clear = async (): Promise<void> =>
    void (await dataset.client.query("truncate webhook_delivery_pending"));
  const drains: DrainResult[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const result = await drain(bench, engine, { deliveries: MESSAGES, isHanging: false }, clear);
    if (round >= 0) drains.push(result);
  }
  const of = (pick: (result: DrainResult) => number): number => median(drains.map(pick));
  return {
    id: "delivery",
    name: "delivery, of a backlog of 10,000",
    isBounded: true,
    figures: {
      nodeUs: of(({ nodeUs }) => nodeUs),
      postgresUs: of(({ postgresUs }) => postgresUs),
      p50Ms: Number.NaN,
      hit: Number.NaN,
      read: Number.NaN,
      walBytes: Number.NaN,
    },
  };
}

/** Points all endpoints to the sink and returns their secrets. */
async function redirectEndpoints({ client }: GrowthDataset, sinkUrl: string): Promise<string[]> {
  await client.query(
    `update webhook_endpoint set url = $1 || '/hook/' || n, version = version + 1, circuit_step = null, blocked_until = null
     from bench_endpoint where bench_endpoint.id = webhook_endpoint.id`,
    [sinkUrl],
  );
  const { rows } = await client.query<{ secret: string }>("select secret from bench_endpoint order by n");
  return rows.map(({ secret }) => secret);
}
