/** The straight line through points, and how sure its slope is. */

export interface Point {
  atMs: number;
  value: number;
}

export interface LinearFit {
  /** Of the value, an hour. */
  slopePerHour: number;
  /** Its standard error, an hour. */
  standardErrorPerHour: number;
  /** Minutes that it rests on. */
  minutes: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * By least squares through one point a minute, `ofMinute` of its values: samples that follow closely upon each other are
 * alike, and all of them together would make the slope look surer than it is. Null: there are fewer than three minutes.
 */
export function fitLine(
  points: readonly Point[],
  aggregate: (values: readonly number[]) => number,
): LinearFit | null {
  const minutes = aggregateByMinute(points, aggregate);
  const count = minutes.length;
  if (count < 3) return null;
  const [meanX, meanY] = [meanOf(minutes.map(({ x }) => x)), meanOf(minutes.map(({ y }) => y))];
  const spread = sumOf(minutes.map(({ x }) => (x - meanX) ** 2));
  const slopePerHour = sumOf(minutes.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread;
  const rest = sumOf(minutes.map(({ x, y }) => (y - meanY - slopePerHour * (x - meanX)) ** 2));
  return { slopePerHour, standardErrorPerHour: Math.sqrt(rest / (count - 2) / spread), minutes: count };
}

/** One point a minute: `x` in hours, `y` by `ofMinute`. */
export function aggregateByMinute(
  points: readonly Point[],
  aggregate: (values: readonly number[]) => number,
): { x: number; y: number }[] {
  return [...Map.groupBy(points, ({ atMs }) => Math.floor(atMs / MINUTE_MS)).values()].map((group) => ({
    x: meanOf(group.map(({ atMs }) => atMs)) / HOUR_MS,
    y: aggregate(group.map(({ value }) => value)),
  }));
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length;
}
