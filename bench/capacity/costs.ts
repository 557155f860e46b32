/** Derives the cost of one list, change, delivery or retry from the totals of whole phases. */

/** Totals of one phase: counts, and CPU time in microseconds. */
export interface Figures {
  apiUs: number;
  workerUs: number;
  postgresUs: number;
  mongoUs: number;
  /** SQL statements. */
  statements: number;
  /** Bytes of PostgreSQL's write-ahead log. */
  walBytes: number;
  /** MongoDB commands. */
  mongoCommands: number;
}

export interface Phase {
  seconds: number;
  reads: number;
  changes: number;
  deliveries: number;
  /** Attempts after the first of each delivery. */
  retries: number;
  figures: Figures;
}

/** Bytes on disk per row, including its indexes. */
export interface RowBytes {
  job: number;
  event: number;
  delivery: number;
  attempt: number;
}

export interface Costs {
  read: Figures;
  change: Figures;
  /** The cost of one item of a batch. */
  batchedChange: Figures;
  delivery: Figures;
  retry: Figures;
  bytes: RowBytes;
}

const figureNames = [
  "apiUs",
  "workerUs",
  "postgresUs",
  "mongoUs",
  "statements",
  "walBytes",
  "mongoCommands",
] as const satisfies readonly (keyof Figures)[];

export function mapFigures(of: (name: keyof Figures) => number): Figures {
  return Object.fromEntries(figureNames.map((name) => [name, of(name)])) as unknown as Figures;
}

/** The measured phases; `meant` is the intended rate of deliveries per second. */
export interface Phases {
  rest: Phase;
  lists: Phase;
  changes: Phase;
  batches: Phase;
  deliveries: { meant: number; phase: Phase }[];
  retries: Phase;
}

/** The delivery costs at each rate; the highest rate is used for the fleet. */
export interface PhaseCosts extends Omit<Costs, "bytes"> {
  rest: Figures;
  deliveries: { meant: number; reached: number; figures: Figures }[];
}

/** Each phase adds one kind of work, so the known costs of the other work are subtracted. */
export function computeCosts({ rest, lists, changes, batches, deliveries, retries }: Phases): PhaseCosts {
  const atRest = perSecond(rest);
  const batchedChange = costPerItem(withoutRest(batches, atRest), batches.changes);
  const ofDelivery = (phase: Phase): Figures => {
    const others = sumFigures([{ figures: batchedChange, count: phase.changes }]);
    return costPerItem(withoutRest(phase, atRest), phase.deliveries, others);
  };
  const byRate = deliveries.map(({ meant, phase }) => ({
    meant,
    reached: phase.deliveries / phase.seconds,
    figures: ofDelivery(phase),
  }));
  const nearest = deliveries.toSorted(
    (a, b) => rateDistance(a.phase, retries) - rateDistance(b.phase, retries),
  )[0];
  const last = byRate.at(-1);
  if (!nearest || !last) throw new Error("No deliveries were measured");
  const withoutRetries = sumFigures([
    { figures: batchedChange, count: retries.changes },
    { figures: ofDelivery(nearest.phase), count: retries.deliveries },
  ]);
  return {
    rest: atRest,
    read: costPerItem(withoutRest(lists, atRest), lists.reads),
    change: costPerItem(withoutRest(changes, atRest), changes.changes),
    batchedChange,
    deliveries: byRate,
    delivery: last.figures,
    retry: costPerItem(withoutRest(retries, atRest), retries.retries, withoutRetries),
  };
}

/** Returns the difference of two delivery rates, per second. */
function rateDistance(a: Phase, b: Phase): number {
  return Math.abs(a.deliveries / a.seconds - b.deliveries / b.seconds);
}

/** Divides a phase at rest by its seconds. */
function perSecond({ seconds, figures }: Phase): Figures {
  return mapFigures((name) => figures[name] / seconds);
}

/** Subtracts what the processes would have used at rest. */
function withoutRest({ seconds, figures }: Phase, rest: Figures): Figures {
  return mapFigures((name) => figures[name] - rest[name] * seconds);
}

/**
 * Returns the cost per item after subtracting `others`, the cost of the phase's other work. Never negative: a cost below the
 * machine's noise counts as 0.
 */
function costPerItem(figures: Figures, count: number, others: Figures = ZERO_FIGURES): Figures {
  return mapFigures((name) => (count === 0 ? 0 : Math.max(0, (figures[name] - others[name]) / count)));
}

export function sumFigures(parts: readonly { figures: Figures; count: number }[]): Figures {
  return mapFigures((name) => parts.reduce((total, { figures, count }) => total + figures[name] * count, 0));
}

const ZERO_FIGURES = mapFigures(() => 0);
