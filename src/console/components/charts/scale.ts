/** The axis of a chart of counts: steps of 1, 2 or 5 times a power of ten, at most five of them. */
const MAX_STEPS = 5;

/** Returns the ticks from 0 and the last of them, which is at least `max` and 1. */
export function scaleOf(max: number): { ticks: number[]; top: number } {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, max) / MAX_STEPS)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size * MAX_STEPS >= max) ?? 1;
  const count = Math.max(1, Math.ceil(max / step));
  return { ticks: Array.from({ length: count + 1 }, (_, index) => index * step), top: count * step };
}
