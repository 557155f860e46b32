/** What one of each thing costs, from what whole phases took. */

/** Of one phase as a whole: counts, and CPU in microseconds. */
export interface Figures {
  apiUs: number;
  workerUs: number;
  postgresUs: number;
  mongoUs: number;
  /** Of PostgreSQL. */
  statements: number;
  /** Bytes of PostgreSQL's write-ahead log. */
  walBytes: number;
  /** Commands of MongoDB. */
  mongoCommands: number;
}

export interface Phase {
  seconds: number;
  reads: number;
  changes: number;
  deliveries: number;
  /** Attempts beyond the first of each delivery. */
  retries: number;
  figures: Figures;
}

/** Bytes on disk of one row, its indexes included. */
export interface RowBytes {
  job: number;
  event: number;
  delivery: number;
  attempt: number;
}

export interface Costs {
  read: Figures;
  change: Figures;
  /** Of one item of a batch. */
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

/** What was measured, phase by phase; `deliveries` by the deliveries a second that were meant. */
export interface Phases {
  rest: Phase;
  lists: Phase;
  changes: Phase;
  batches: Phase;
  deliveries: { meant: number; phase: Phase }[];
  retries: Phase;
}

/** What one costs at each rate, and that of the highest rate for all that follows. */
export interface PhaseCosts extends Omit<Costs, "bytes"> {
  rest: Figures;
  deliveries: { meant: number; reached: number; figures: Figures }[];
}

/** Each phase does one thing more than those before it, whose costs are taken off. */
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

/** How far two rates of deliveries are apart. */
function rateDistance(a: Phase, b: Phase): number {
  return Math.abs(a.deliveries / a.seconds - b.deliveries / b.seconds);
}

/** What the processes do whether or not anything comes, a second. */
function perSecond({ seconds, figures }: Phase): Figures {
  return mapFigures((name) => figures[name] / seconds);
}

/** What the processes did because of the work: without what they do at rest. */
function withoutRest({ seconds, figures }: Phase, rest: Figures): Figures {
  return mapFigures((name) => figures[name] - rest[name] * seconds);
}

/**
 * Of one of `count`, where `others` is what the rest of the phase's work cost. Never below zero: what is too small to be
 * told from what else the machine does counts as nothing.
 */
function costPerItem(figures: Figures, count: number, others: Figures = ZERO_FIGURES): Figures {
  return mapFigures((name) => (count === 0 ? 0 : Math.max(0, (figures[name] - others[name]) / count)));
}

export function sumFigures(parts: readonly { figures: Figures; count: number }[]): Figures {
  return mapFigures((name) => parts.reduce((total, { figures, count }) => total + figures[name] * count, 0));
}

const ZERO_FIGURES = mapFigures(() => 0);
