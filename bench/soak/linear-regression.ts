/** Fits a straight line through points and estimates the error of its slope. */

export interface Point {
  atMs: number;
  value: number;
}

export interface LinearFit {
  /** Slope of the value per hour. */
  slopePerHour: number;
  /** Standard error of the slope, per hour. */
  standardErrorPerHour: number;
  /** Number of minutes with points. */
  minutes: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * Fits a line by least squares through one point per minute, computed by `aggregate`. Samples seconds apart are correlated;
 * used one by one they would make the error too small. Returns null for fewer than three minutes.
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

/** Groups points by minute: `x` is the mean time in hours, `y` the aggregate of the values. */
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
