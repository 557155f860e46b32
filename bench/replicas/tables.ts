/** What was measured, as Markdown. */
import type { Compared, Share, SideFigures } from "./measure.ts";

export function tablesOf(
  compared: readonly (Compared & { name: string })[],
  shares: readonly Share[],
): string {
  return [
    "a: with a replica; b: without",
    "",
    "| | requests/s a, b | p50 ms a, b | p99 ms a, b | CPU µs a request, Node a, b | primary a, b | standby a |",
    "|---|---|---|---|---|---|---|",
    ...compared.map(lineOf),
    "",
    "| changes a second meanwhile | lists of 10 by the replica | by the primary, as the organisation's jobs had just changed | by the primary, for another reason |",
    "|---|---|---|---|",
    ...shares.map(
      ({ changes, current, changed, other }) =>
        `| ${shown(changes)} | ${shown(current)} % | ${shown(changed)} % | ${shown(other)} % |`,
    ),
  ].join("\n");
}

function lineOf({ name, withReplica: a, without: b }: Compared & { name: string }): string {
  const both = (figure: keyof SideFigures): string => `${shown(a[figure])}, ${shown(b[figure])}`;
  const cells = [both("requests"), both("p50Ms"), both("p99Ms"), both("nodeUs"), both("postgresUs")];
  return `| ${name} | ${cells.join(" | ")} | ${shown(a.standbyUs)} |`;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
}
