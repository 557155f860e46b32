/** Measures the cost of a delivery with more and more finished deliveries in the log. */
import { countStatements, type BenchPostgres } from "../database.ts";
import { onProgress } from "../environment.ts";
import { formatJudged, formatNumber, formatTable } from "../report.ts";
import { measureInTurn, medianOf, ratioOf } from "../statistics.ts";
import { createDeliveryDataset, insertFinished } from "./dataset.ts";
import { drain, type DeliveryBench, type DrainFigures } from "./drain.ts";
import { startEngine, type DeliveryServers, type EngineProcess, type Sink } from "./processes.ts";

const LOG_SIZES = [10_000, 100_000, 1_000_000];
const DELIVERIES = 10_000;
const MAX_GROWTH = 1.5;

interface LogSide {
  finished: number;
  bench: DeliveryBench;
  engine: EngineProcess;
}

const cpu = ({ nodeUs, postgresUs }: DrainFigures): number => nodeUs + postgresUs;

/** Returns the table, for log sizes up to `largest`. */
export async function measureLogGrowth(
  { postgres, servers, sink }: { postgres: BenchPostgres; servers: DeliveryServers; sink: Sink },
  { rounds, largest }: { rounds: number; largest: number },
): Promise<string> {
  await using opened = new AsyncDisposableStack();
  const sides: LogSide[] = [];
  for (const finished of LOG_SIZES.filter((size) => size <= largest)) {
    const dataset = opened.use(
      await createDeliveryDataset(postgres, {
        name: `log_${finished}`,
        events: DELIVERIES,
        sinkUrl: sink.url,
      }),
    );
    const takeCounts = await countStatements(dataset.client);
    await insertFinished(dataset.client, finished);
    await dataset.client.query("vacuum analyze");
    const engine = opened.use(await startEngine("waymark", dataset.url, servers));
    onProgress(`${finished} finished deliveries`);
    sides.push({ finished, bench: { servers, dataset, sink, takeCounts }, engine });
  }
  const all = await measureInTurn(sides, { warmUps: 1, rounds }, ({ bench, engine }) =>
    drain(bench, engine, { deliveries: DELIVERIES, keepsLog: true }),
  );
  const rows = sides.map(({ finished }, at) => {
    const [first = [], own = []] = [all[0], all[at]];
    const { median, min, max } = ratioOf(own, first, cpu);
    const { nodeUs, postgresUs, perSecond } = medianOf<keyof DrainFigures>(own);
    const measured = formatJudged({ value: median, max: MAX_GROWTH });
    return [
      finished.toLocaleString("en"),
      at === 0 ? "" : `${measured} (${formatNumber(min)} to ${formatNumber(max)})`,
      `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}`,
      formatNumber(perSecond),
    ];
  });
  return formatTable([
    [
      "finished deliveries in the log",
      `CPU relative to the first row, budget ≤ ${MAX_GROWTH}`,
      "CPU µs per delivery: Node + PostgreSQL",
      "deliveries/s",
    ],
    ...rows,
  ]);
}
