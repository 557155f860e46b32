/** Measures how fast each engine sends a backlog of deliveries: Waymark, graphile-worker, and a bare loop of POSTs. */
import { onProgress } from "../environment.ts";
import { peakMemoryMb } from "../process-usage.ts";
import { formatJudged, formatNumber, formatTable } from "../report.ts";
import { measureInTurn, median, medianOf, ratioOf } from "../statistics.ts";
import { drain, type DeliveryBench, type DrainFigures } from "./drain.ts";
import { startEngine, type EngineProcess } from "./processes.ts";
import type { EngineName } from "./protocol.ts";

interface DeliverySide {
  name: string;
  engine: EngineName;
  isHanging?: true;
  /** Minimum of Waymark's deliveries per second divided by the engine's. With hanging endpoints the ratio is inverted. */
  min?: number;
}

const SIDES: readonly DeliverySide[] = [
  { name: "Waymark", engine: "waymark" },
  { name: "Waymark, 1 % of endpoints hanging", engine: "waymark", isHanging: true, min: 0.8 },
  { name: "graphile-worker", engine: "graphile-worker", min: 1.1 },
  { name: "bare loop of signed POSTs", engine: "bare-loop", min: 0.5 },
];
const WARM_UP_SHARE = 1 / 10;
const MAX_STATEMENTS = 0.05;
const MAX_MEMORY_MB = 250;
const HEAD = [
  "engine",
  "budget: Waymark's deliveries/s ÷ the engine's",
  "measured (min to max)",
  "deliveries/s",
  "CPU µs per delivery: Node + PostgreSQL + MongoDB",
  "statements per delivery",
  "duplicates",
];

/** Returns the table. `only` names the engines to measure besides Waymark; null: all that can run. */
export async function measureBacklog(
  bench: DeliveryBench,
  { deliveries, rounds, only }: { deliveries: number; rounds: number; only: readonly string[] | null },
): Promise<string> {
  const sides = SIDES.filter(({ engine }) => engine === "waymark" || (only?.includes(engine) ?? true));
  await using opened = new AsyncDisposableStack();
  const engines = new Map<EngineName, EngineProcess>();
  for (const { engine } of sides)
    if (!engines.has(engine))
      engines.set(engine, opened.use(await startEngine(engine, bench.dataset.url, bench.servers)));

  const all = await measureInTurn(sides, { warmUps: 1, rounds }, async (side, isWarmUp) => {
    const size = isWarmUp ? Math.ceil(deliveries * WARM_UP_SHARE) : deliveries;
    const { isHanging = false } = side;
    const figures = await drain(bench, engines.get(side.engine) as EngineProcess, {
      deliveries: size,
      isHanging,
    });
    onProgress(`${side.name} ${Math.round(figures.perSecond)}/s`);
    return figures;
  });
  const [waymark = []] = all;
  const rows = sides.map((side, at) => formatSide(side, { own: all[at] ?? [], waymark }));
  const statements = median(waymark.map((figures) => figures.statements));
  const memoryMb = peakMemoryMb(engines.get("waymark")?.pid ?? 0);
  return [
    formatTable([HEAD, ...rows]),
    `Waymark's statements per delivery, budget ≤ ${MAX_STATEMENTS}: ${formatJudged({ value: statements, max: MAX_STATEMENTS })}. ` +
      `Peak memory of its worker, budget ≤ ${MAX_MEMORY_MB} MB: ${formatJudged({ value: memoryMb, max: MAX_MEMORY_MB })} MB.`,
  ].join("\n\n");
}

const rate = ({ perSecond }: DrainFigures): number => perSecond;

function formatSide(
  { name, isHanging, min }: DeliverySide,
  { own, waymark }: { own: readonly DrainFigures[]; waymark: readonly DrainFigures[] },
): string[] {
  const ratio = isHanging ? ratioOf(own, waymark, rate) : ratioOf(waymark, own, rate);
  const measured = formatJudged({ value: ratio.median, ...(min !== undefined && { min }) });
  const { perSecond, nodeUs, postgresUs, mongoUs, statements } = medianOf<keyof DrainFigures>(own);
  return [
    name,
    min === undefined ? "" : `≥ ${min}${isHanging ? " of Waymark with all healthy" : ""}`,
    own === waymark ? "" : `${measured} (${formatNumber(ratio.min)} to ${formatNumber(ratio.max)})`,
    formatNumber(perSecond),
    [nodeUs, postgresUs, mongoUs].map(formatNumber).join(" + "),
    formatNumber(statements),
    String(own.reduce((sum, { duplicates }) => sum + duplicates, 0)),
  ];
}
