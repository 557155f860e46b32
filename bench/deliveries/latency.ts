/** Measures the time from the commit of a change to its receipt, and the CPU of both, at a steady rate. */
import { onProgress } from "../environment.ts";
import { formatJudged, formatNumber, formatTable } from "../report.ts";
import { processCpuUs } from "../process-usage.ts";
import { endProcess, nextMessage, startProcess } from "../servers.ts";
import { measureInTurn, median, medianOf, percentile } from "../statistics.ts";
import { pointEndpoints } from "./dataset.ts";
import type { DeliveryBench } from "./drain.ts";
import { startEngine, type EngineProcess } from "./processes.ts";
import type { EngineName, Produced, ProducerCommand } from "./protocol.ts";

interface Latency {
  p50Ms: number;
  p99Ms: number;
  /** CPU microseconds per change: of the engine, and of PostgreSQL with the insert of the event. */
  nodeUs: number;
  postgresUs: number;
}

const RATES = [
  { perSecond: 100, p50: 2.5, p99: 1 },
  { perSecond: 200, p50: 2.5, p99: 1 },
  { perSecond: 1_000, p50: 2.5, p99: 3 },
];
const ENGINES: readonly EngineName[] = ["waymark", "graphile-worker"];
const SECONDS = 4;
/** The first second of each run is not counted: a started engine still opens connections and reads its endpoints. */
const WARM_UP_SECONDS = 1;

/** Returns the table. */
export async function measureLatency(bench: DeliveryBench, rounds: number): Promise<string> {
  const { servers, dataset } = bench;
  await using opened = new AsyncDisposableStack();
  await pointEndpoints(dataset.client, bench.sink.url);
  const engines: EngineProcess[] = [];
  for (const name of ENGINES) engines.push(opened.use(await startEngine(name, dataset.url, servers)));
  const env = { NODE_ENV: "production", DATABASE_URL: dataset.url, ...servers.env };
  const child = startProcess("deliveries/producer.ts", env);
  opened.defer(() => endProcess(child));
  await nextMessage(child, "producer");
  const produce = async (command: ProducerCommand): Promise<Produced> => {
    child.send(command);
    return await nextMessage<Produced>(child, "producer");
  };

  const rows: string[][] = [];
  for (const { perSecond, p50, p99 } of RATES) {
    onProgress(`latency at ${perSecond}/s`);
    const measured = await measureInTurn(engines, { warmUps: 1, rounds }, (engine) =>
      measureOne(bench, engine, { perSecond, produce }),
    );
    const of = (name: EngineName): Latency[] => measured[engines.findIndex((one) => one.name === name)] ?? [];
    const ratio = (figure: keyof Latency, max: number): string => {
      const ratios = of("graphile-worker").map(
        (other, at) => (of("waymark")[at] as Latency)[figure] / other[figure],
      );
      return formatJudged({ value: median(ratios), max });
    };
    rows.push([
      perSecond.toLocaleString("en"),
      `p50 ≤ ${p50}; p99 ≤ ${p99}`,
      `${ratio("p50Ms", p50)}; ${ratio("p99Ms", p99)}`,
      ...ENGINES.map((name) => {
        const { p50Ms, p99Ms, nodeUs, postgresUs } = medianOf<keyof Latency>(of(name));
        return `${formatNumber(p50Ms)} / ${formatNumber(p99Ms)}; ${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}`;
      }),
    ]);
  }
  return formatTable([
    [
      "changes per second",
      "budget, relative to graphile-worker",
      "measured",
      "Waymark: p50 / p99 ms; CPU µs per change, Node + PostgreSQL",
      "graphile-worker",
    ],
    ...rows,
  ]);
}

async function measureOne(
  { servers, dataset: { client, secrets }, sink }: DeliveryBench,
  engine: EngineProcess,
  { perSecond, produce }: { perSecond: number; produce: (command: ProducerCommand) => Promise<Produced> },
): Promise<Latency> {
  const count = perSecond * (WARM_UP_SECONDS + SECONDS);
  await client.query("truncate webhook_delivery, webhook_attempt, bench_attempt");
  await engine.send({ do: "fill", count: 0 });
  sink.send({ do: "expect", count, secrets, keepTimes: true });
  const received = sink.received();
  received.catch(() => undefined);
  const cpu = () => ({ nodeUs: processCpuUs(engine.pid), postgresUs: servers.cpu().postgresUs });
  const before = cpu();
  await engine.send({ do: "start" });
  const committed = await produce({ engine: engine.name, perSecond, count });
  const { times } = await received;
  await engine.send({ do: "stop" });
  const after = cpu();
  const countedFromMs = Math.min(...committed.values()) + WARM_UP_SECONDS * 1000;
  const latenciesMs = [...times].flatMap(([id, receivedMs]) => {
    const committedMs = committed.get(id) ?? Number.NaN;
    return committedMs < countedFromMs ? [] : [receivedMs - committedMs];
  });
  return {
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    nodeUs: (after.nodeUs - before.nodeUs) / count,
    postgresUs: (after.postgresUs - before.postgresUs) / count,
  };
}
