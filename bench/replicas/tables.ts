/** Formats the results as Markdown. */
import type { ReplicaComparison, ReplicaShare, ReplicaFigures } from "./measure.ts";

export function formatReplicas(
  compared: readonly (ReplicaComparison & { name: string })[],
  shares: readonly ReplicaShare[],
): string {
  return [
    "a: with a replica; b: without a replica",
    "",
    "| | requests/s a, b | p50 ms a, b | p99 ms a, b | CPU µs per request: Node a, b | primary a, b | standby a |",
    "|---|---|---|---|---|---|---|",
    ...compared.map(formatLine),
    "",
    "| changes per second | lists of 10 from the replica | from the primary: the organisation's jobs had just changed | from the primary: other reasons |",
    "|---|---|---|---|",
    ...shares.map(
      ({ changes, current, changed, other }) =>
        `| ${formatNumber(changes)} | ${formatNumber(current)} % | ${formatNumber(changed)} % | ${formatNumber(other)} % |`,
    ),
  ].join("\n");
}

function formatLine({ name, withReplica: a, without: b }: ReplicaComparison & { name: string }): string {
  const both = (figure: keyof ReplicaFigures): string =>
    `${formatNumber(a[figure])}, ${formatNumber(b[figure])}`;
  const cells = [both("requests"), both("p50Ms"), both("p99Ms"), both("nodeUs"), both("postgresUs")];
  return `| ${name} | ${cells.join(" | ")} | ${formatNumber(a.standbyUs)} |`;
}

function formatNumber(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
}
