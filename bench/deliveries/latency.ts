/** Measures the time from the commit of a change to its receipt, at a steady rate. */
import { endProcess, startProcess } from "../servers.ts";
import type { DeliveryBench } from "./backlog.ts";
import {
  rotate,
  median,
  percentile,
  type EngineName,
  type Produced,
  type ProducerCommand,
} from "./protocol.ts";
import { nextMessage, startEngine, type EngineProcess } from "./processes.ts";

export interface Latency {
  p50Ms: number;
  p99Ms: number;
}

export interface LatencyResult {
  perSecond: number;
  /** One result per round, by engine. */
  latencies: Map<EngineName, Latency[]>;
}

const RATES = [200, 1_000];
const SECONDS = 4;
/** The first second of each run is not counted: a started engine still opens connections and reads its endpoints. */
const WARM_UP_SECONDS = 1;

export async function measureLatency(
  bench: DeliveryBench,
  { rounds }: { rounds: number },
): Promise<LatencyResult[]> {
  const { processes, dataset } = bench;
  await using opened = new AsyncDisposableStack();
  const names: EngineName[] = [
    "waymark",
    "graphile-worker",
    ...(processes.hasRedis ? ["bullmq" as const] : []),
  ];
  const engines: EngineProcess[] = [];
  for (const name of names) engines.push(opened.use(await startEngine(name, dataset.url, processes)));
  const env = { NODE_ENV: "production", DATABASE_URL: dataset.url, ...processes.env };
  const child = startProcess("deliveries/producer.ts", env, []);
  opened.defer(() => endProcess(child));
  await nextMessage(child, "producer");
  const produce = async (command: ProducerCommand): Promise<Produced> => {
    child.send(command);
    return await nextMessage<Produced>(child, "producer");
  };

  await dataset.setHanging(false);
  const results: LatencyResult[] = [];
  for (const perSecond of RATES) {
    const latencies = new Map(names.map((name): [EngineName, Latency[]] => [name, []]));
    const pace = (engine: EngineProcess): Promise<Latency> =>
      measureOne(bench, engine, { perSecond, produce });
    for (const engine of engines) await pace(engine);
    for (let round = 0; round < rounds; round += 1)
      for (const engine of rotate(engines, round)) latencies.get(engine.name)?.push(await pace(engine));
    results.push({ perSecond, latencies });
    for (const [name, all] of latencies) {
      const of = (pick: (latency: Latency) => number): string => median(all.map(pick)).toFixed(1);
      processes.onProgress(
        `${perSecond}/s ${name}: p50 ${of(({ p50Ms }) => p50Ms)} ms, p99 ${of(({ p99Ms }) => p99Ms)} ms`,
      );
    }
  }
  return results;
}

async function measureOne(
  { dataset, sink }: DeliveryBench,
  engine: EngineProcess,
  { perSecond, produce }: { perSecond: number; produce: (command: ProducerCommand) => Promise<Produced> },
): Promise<Latency> {
  const count = perSecond * (WARM_UP_SECONDS + SECONDS);
  await dataset.clear();
  await engine.send({ do: "fill", count: 0 });
  sink.send({ do: "expect", count, secrets: dataset.secrets, keepTimes: true });
  const received = sink.received();
  await engine.send({ do: "start" });
  const committed = await produce({ engine: engine.name, perSecond, count });
  const { times } = await received;
  await engine.send({ do: "stop" });
  const countedFromMs = Math.min(...committed.values()) + WARM_UP_SECONDS * 1000;
  const latenciesMs = [...times].flatMap(([id, receivedMs]) => {
    const committedMs = committed.get(id) ?? Number.NaN;
    return committedMs < countedFromMs ? [] : [receivedMs - committedMs];
  });
  return { p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) };
}
