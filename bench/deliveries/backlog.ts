/** Measures how fast each engine sends a backlog of deliveries: Waymark, four job queues, and a bare loop of POSTs. */
import { processCpuUs, peakMemoryMb } from "../process-usage.ts";
import { median, HANGING_ENDPOINTS, ENDPOINTS, type EngineName } from "./protocol.ts";
import { runAlternating } from "./alternating-runs.ts";
import { startEngine, type EngineProcess, type Sink, type DeliveryProcesses } from "./processes.ts";
import type { DeliveryDataset } from "./dataset.ts";

/** The figures of one drain. CPU microseconds and statements are per delivery. */
export interface DrainResult {
  perSecond: number;
  nodeUs: number;
  postgresUs: number;
  mongoUs: number;
  redisUs: number;
  statements: number;
  /** Requests beyond the first of each delivery. */
  duplicates: number;
}

export interface DeliverySide {
  name: string;
  engine: EngineName;
  deliveries: number;
  isHanging: boolean;
}

export interface BacklogResult {
  sides: DeliverySide[];
  /** One result per round, by the side's name. */
  drains: Map<string, DrainResult[]>;
  /** Names of the sides that did not finish. */
  unfinished: Set<string>;
  /** Peak resident memory of Waymark's worker, in MB. */
  workerMemoryMb: number;
}

/** One Agenda task per delivery is so slow that Agenda gets only this share of the backlog. */
const AGENDA_SHARE = 1 / 25;
const WARM_UP_SHARE = 1 / 10;

export interface DeliveryBench {
  processes: DeliveryProcesses;
  dataset: DeliveryDataset;
  sink: Sink;
}

export async function measureBacklog(
  bench: DeliveryBench,
  { deliveries, rounds, only }: { deliveries: number; rounds: number; only: readonly string[] | null },
): Promise<BacklogResult> {
  const sides = listSides(bench.processes, deliveries).filter(
    ({ engine }) => only === null || engine === "waymark" || only.includes(engine),
  );
  await using opened = new AsyncDisposableStack();
  const engines = new Map<EngineName, EngineProcess>();
  for (const { engine } of sides)
    if (!engines.has(engine))
      engines.set(engine, opened.use(await startEngine(engine, bench.dataset.url, bench.processes)));

  const engineOf = ({ engine }: DeliverySide): EngineProcess => engines.get(engine) as EngineProcess;
  const { results: drains, unfinished } = await runAlternating<DeliverySide, DrainResult>(sides, {
    rounds,
    warmUp: (side) =>
      drain(bench, engineOf(side), { ...side, deliveries: Math.ceil(side.deliveries * WARM_UP_SHARE) }),
    async run(side) {
      const result = await drain(bench, engineOf(side), side);
      bench.processes.onProgress(`${side.name} ${Math.round(result.perSecond)}/s`);
      return result;
    },
    isReference: ({ engine }) => engine === "waymark",
    async abandon(side) {
      await engineOf(side)[Symbol.asyncDispose]();
    },
    onProgress: (text) => bench.processes.onProgress(text),
  });
  return { sides, drains, unfinished, workerMemoryMb: peakMemoryMb(engines.get("waymark")?.pid ?? 0) };
}

function listSides({ hasRedis }: DeliveryProcesses, deliveries: number): DeliverySide[] {
  const side = (name: string, engine: EngineName, share = 1): DeliverySide => ({
    name,
    engine,
    deliveries: Math.ceil(deliveries * share),
    isHanging: false,
  });
  return [
    side("Waymark", "waymark"),
    { ...side("Waymark, 1 % of endpoints hanging", "waymark"), isHanging: true },
    side("graphile-worker", "graphile-worker"),
    side("pg-boss", "pg-boss"),
    ...(hasRedis ? [side("BullMQ", "bullmq")] : []),
    side("Agenda, one task per delivery", "agenda", AGENDA_SHARE),
    side("bare loop of signed POSTs", "bare-loop"),
  ];
}

/** Fills the queue, starts the engine, waits for the last delivery and stops the engine. */
export async function drain(
  {
    processes,
    dataset,
    sink,
  }: Omit<DeliveryBench, "processes"> & { processes: Pick<DeliveryProcesses, "cpu"> },
  engine: EngineProcess,
  { deliveries, isHanging }: Pick<DeliverySide, "deliveries" | "isHanging">,
  clear: () => Promise<void> = () => dataset.clear(),
): Promise<DrainResult> {
  await clear();
  await dataset.setHanging(isHanging);
  await engine.send({ do: "fill", count: deliveries });
  // Message n goes to endpoint n modulo the number of endpoints.
  const healthy = isHanging ? countHealthy(deliveries) : deliveries;
  sink.send({ do: "expect", count: healthy, secrets: dataset.secrets, keepTimes: false });
  await dataset.takeStatementCount();
  const before = { servers: processes.cpu(), node: processCpu(engine) };
  const received = sink.received();
  // If the engine fails to start, this promise rejects later without a listener.
  received.catch(() => undefined);
  await engine.send({ do: "start" });
  const { firstMs, lastMs, requests, wrongSignatures } = await received;
  sink.send({ do: "release" });
  await engine.send({ do: "stop" });
  const after = { servers: processes.cpu(), node: processCpu(engine) };
  if (wrongSignatures > 0) throw new Error(`${engine.name} sent ${wrongSignatures} wrong signatures`);
  return {
    perSecond: ((healthy - 1) / (lastMs - firstMs)) * 1000,
    nodeUs: (after.node - before.node) / healthy,
    postgresUs: (after.servers.postgres - before.servers.postgres) / healthy,
    mongoUs: (after.servers.mongo - before.servers.mongo) / healthy,
    redisUs: (after.servers.redis - before.servers.redis) / healthy,
    statements: (await dataset.takeStatementCount()) / healthy,
    duplicates: requests - healthy,
  };
}

function countHealthy(deliveries: number): number {
  let healthy = 0;
  for (let n = 1; n <= deliveries; n += 1) if (n % ENDPOINTS >= HANGING_ENDPOINTS) healthy += 1;
  return healthy;
}

function processCpu({ pid }: EngineProcess): number {
  return processCpuUs(pid);
}

/** Computes `of` for left divided by right per round, and returns the median, smallest and largest ratio. */
export function medianRatio(
  left: readonly DrainResult[],
  right: readonly DrainResult[],
  of: (drain: DrainResult) => number,
) {
  const ratios = left.map((result, at) => of(result) / of(right[at] as DrainResult));
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}
