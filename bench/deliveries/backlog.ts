/** A backlog drained by each engine in turns: Waymark, what it could have been built on, and a bare loop of POSTs. */
import { cpuOfProcess, peakMemoryOf } from "../cpu.ts";
import { median, HANGING, ENDPOINTS, type EngineName } from "./protocol.ts";
import { runSides } from "./sides.ts";
import { startEngine, type EngineProcess, type Sink, type Stage } from "./stage.ts";
import type { World } from "./world.ts";

/** Of one drain; microseconds and statements are those of one delivery. */
export interface Drain {
  perSecond: number;
  nodeUs: number;
  postgresUs: number;
  mongoUs: number;
  redisUs: number;
  statements: number;
  /** Deliveries that came more than once. */
  twice: number;
}

export interface Side {
  name: string;
  engine: EngineName;
  deliveries: number;
  isHanging: boolean;
}

export interface BacklogResult {
  sides: Side[];
  /** By the side's name, round by round. */
  drains: Map<string, Drain[]>;
  /** The names of the sides that did not finish. */
  unfinished: Set<string>;
  /** Most memory that Waymark's worker ever held, in MB. */
  workerMemoryMb: number;
}

/** One job a delivery costs Agenda so much that a share of the backlog has to do. */
const AGENDA_SHARE = 1 / 25;
const WARM_UP_SHARE = 1 / 10;

export interface Bench {
  stage: Stage;
  world: World;
  sink: Sink;
}

export async function measureBacklog(
  bench: Bench,
  { deliveries, rounds, only }: { deliveries: number; rounds: number; only: readonly string[] | null },
): Promise<BacklogResult> {
  const sides = sidesOf(bench.stage, deliveries).filter(
    ({ engine }) => only === null || engine === "waymark" || only.includes(engine),
  );
  await using opened = new AsyncDisposableStack();
  const engines = new Map<EngineName, EngineProcess>();
  for (const { engine } of sides)
    if (!engines.has(engine))
      engines.set(engine, opened.use(await startEngine(engine, bench.world.url, bench.stage)));

  const engineOf = ({ engine }: Side): EngineProcess => engines.get(engine) as EngineProcess;
  const { results: drains, unfinished } = await runSides<Side, Drain>(sides, {
    rounds,
    warmUp: (side) =>
      drain(bench, engineOf(side), { ...side, deliveries: Math.ceil(side.deliveries * WARM_UP_SHARE) }),
    async run(side) {
      const result = await drain(bench, engineOf(side), side);
      bench.stage.onProgress(`${side.name} ${Math.round(result.perSecond)}/s`);
      return result;
    },
    isReference: ({ engine }) => engine === "waymark",
    async giveUp(side) {
      await engineOf(side)[Symbol.asyncDispose]();
    },
    onProgress: (text) => bench.stage.onProgress(text),
  });
  return { sides, drains, unfinished, workerMemoryMb: peakMemoryOf(engines.get("waymark")?.pid ?? 0) };
}

function sidesOf({ hasRedis }: Stage, deliveries: number): Side[] {
  const side = (name: string, engine: EngineName, share = 1): Side => ({
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
    side("Agenda, one job each", "agenda", AGENDA_SHARE),
    side("bare loop of signed POSTs", "bare-loop"),
  ];
}

/** Fills, begins, waits for the last delivery to come, and stops. */
export async function drain(
  { stage, world, sink }: Omit<Bench, "stage"> & { stage: Pick<Stage, "cpu"> },
  engine: EngineProcess,
  { deliveries, isHanging }: Pick<Side, "deliveries" | "isHanging">,
  clear: () => Promise<void> = () => world.clear(),
): Promise<Drain> {
  await clear();
  await world.hang(isHanging);
  await engine.tell({ do: "fill", count: deliveries });
  // Message n goes to endpoint n modulo their number.
  const healthy = isHanging ? healthyOf(deliveries) : deliveries;
  sink.tell({ do: "expect", count: healthy, secrets: world.secrets, keepTimes: false });
  await world.statements();
  const before = { servers: stage.cpu(), node: cpuOf(engine) };
  const received = sink.received();
  // If the engine does not start, do not wait for it.
  received.catch(() => undefined);
  await engine.tell({ do: "start" });
  const { firstMs, lastMs, requests, wrongSignatures } = await received;
  sink.tell({ do: "release" });
  await engine.tell({ do: "stop" });
  const after = { servers: stage.cpu(), node: cpuOf(engine) };
  if (wrongSignatures > 0) throw new Error(`${engine.name} sent ${wrongSignatures} wrong signatures`);
  return {
    perSecond: ((healthy - 1) / (lastMs - firstMs)) * 1000,
    nodeUs: (after.node - before.node) / healthy,
    postgresUs: (after.servers.postgres - before.servers.postgres) / healthy,
    mongoUs: (after.servers.mongo - before.servers.mongo) / healthy,
    redisUs: (after.servers.redis - before.servers.redis) / healthy,
    statements: (await world.statements()) / healthy,
    twice: requests - healthy,
  };
}

function healthyOf(deliveries: number): number {
  let healthy = 0;
  for (let n = 1; n <= deliveries; n += 1) if (n % ENDPOINTS >= HANGING) healthy += 1;
  return healthy;
}

function cpuOf({ pid }: EngineProcess): number {
  return cpuOfProcess(pid);
}

/** Of one figure, round by round: what stands on the left divided by what stands on the right. */
export function ratioOf(left: readonly Drain[], right: readonly Drain[], of: (drain: Drain) => number) {
  const ratios = left.map((drained, at) => of(drained) / of(right[at] as Drain));
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}
