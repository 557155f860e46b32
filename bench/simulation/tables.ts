/** What was measured and what was computed, as the two parts of docs/scaling.md. */
import { formatNumber } from "../report.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Figures, PhaseCosts } from "./costs.ts";
import type { DiskUsage, FleetSize } from "./fleet.ts";
import { BATCH, type SimulationMeasurement } from "./measure.ts";
import type { Scenario, WaitPercentiles } from "./scenarios.ts";

export function costsTable({ bytes, connections }: SimulationMeasurement, costs: PhaseCosts): string {
  const head = [
    "one of these costs",
    "CPU µs: API",
    "worker",
    "PostgreSQL",
    "MongoDB",
    "statements",
    "bytes of write-ahead log",
    "commands of MongoDB",
  ];
  const rows = [
    formatRow("a list of 10", costs.read),
    formatRow("a change that came by itself", costs.change),
    formatRow(`a change in a batch of ${BATCH}`, costs.batchedChange),
    ...costs.deliveries.map(({ meant, reached, figures }) =>
      formatRow(`a delivery, at ${formatNumber(meant)}/s (${formatNumber(reached)}/s came)`, figures),
    ),
    formatRow("a further attempt at a delivery", costs.retry),
    formatRow("a second in which nothing comes", costs.rest),
  ];
  const { job, event, delivery, attempt } = bytes;
  return [
    formatTable([head, ...rows]),
    `Bytes on disk of a row with its indexes: job ${formatNumber(job)}, event ${formatNumber(event)}, finished delivery ${formatNumber(delivery)}, attempt ${formatNumber(attempt)}.`,
    `Connections to PostgreSQL of one API and one worker under the last rate: ${connections.map(([name, count]) => `${name} ${count}`).join(", ")}.`,
  ].join("\n\n");
}

interface FleetComputation {
  size: FleetSize;
  disk: DiskUsage;
  waits: { primary: WaitPercentiles; worker: WaitPercentiles };
  deliveriesPerDay: number;
}

export function fleetTable(
  computed: FleetComputation,
  assumptions: Assumptions,
  scenarios: readonly Scenario[],
): string {
  const { primary, worker } = computed.waits;
  return [
    formatTable([["what", "at the peak"], ...fleetRows(computed, assumptions)]),
    `Waiting at that utilisation, by chance alone, p50 / p99: a statement for a core of the primary ${formatWait(primary)} ms, a delivery for its worker's thread ${formatWait(worker)} ms.`,
    formatTable([SCENARIO_HEAD, ...scenarios.map(scenarioRow)]),
  ].join("\n\n");
}

function fleetRows(
  { size, disk, deliveriesPerDay }: FleetComputation,
  { utilisation, coresOfPrimary, retentionDays }: Assumptions,
): string[][] {
  const { load, busyCores, primaryCoreCounts } = size;
  return [
    ["deliveries, changes, lists a second", joinNumbers(load.deliveries, load.changes, load.reads)],
    [
      "cores fully busy: APIs, workers, PostgreSQL with lists, MongoDB",
      joinNumbers(busyCores.api, busyCores.worker, busyCores.primary + busyCores.lists, busyCores.mongo),
    ],
    [`API processes, worker processes, at ${percent(utilisation)}`, joinNumbers(size.apis, size.workers)],
    [
      `cores of the primary at ${percent(utilisation)}, answering lists; with lists on replicas`,
      joinNumbers(primaryCoreCounts.withLists, primaryCoreCounts.without),
    ],
    ["cores of the replicas, all together", formatNumber(size.replicaCores)],
    ["statements a second", formatNumber(size.statements)],
    ["write-ahead log, MB/s", formatNumber(size.walBytes / 1e6)],
    ["commands of MongoDB a second", formatNumber(size.mongoCommands)],
    ["connections to PostgreSQL, pools at their defaults", formatNumber(size.connections)],
    [
      `deliveries a second that one primary of ${coresOfPrimary} cores carries`,
      formatNumber(size.deliveriesPerPrimary),
    ],
    [`shards of ${coresOfPrimary} cores`, formatNumber(size.shards)],
    ["deliveries a second that this fleet can send after an outage", formatNumber(size.maxDeliveries)],
    ["deliveries a day, in millions", formatNumber(deliveriesPerDay / 1e6)],
    [
      `disk for ${retentionDays} days: deliveries, attempts`,
      `${terabytes(disk.deliveries)}, ${terabytes(disk.attempts)}`,
    ],
    ["disk for a year of events, which are kept for good", terabytes(disk.eventsOfYear)],
  ];
}

const SCENARIO_HEAD = [
  "in virtual time",
  "came, millions",
  "sent, millions",
  "most waiting, thousands",
  "p99 waited by others' first attempts",
  "by the biggest organisation's",
  "caught up: 99 % of the organisations, all",
];

function scenarioRow({ name, isOutage, outcome }: Scenario): string[] {
  const { arrived, delivered, maxPending, p99CaughtUpS, caughtUpS, biggestP99S, othersP99S } = outcome;
  return [
    name,
    formatNumber(arrived / 1e6),
    formatNumber(delivered / 1e6),
    formatNumber(maxPending / 1e3),
    duration(othersP99S),
    duration(biggestP99S),
    isOutage ? `${formatCatchUp(p99CaughtUpS)}, ${formatCatchUp(caughtUpS)}` : "-",
  ];
}

function formatRow(name: string, figures: Figures): string[] {
  const { apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands } = figures;
  return [
    name,
    ...[apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands].map(formatNumber),
  ];
}

function formatTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const joinNumbers = (...values: number[]): string => values.map(formatNumber).join("; ");
const terabytes = (bytes: number): string => `${formatNumber(bytes / 1e12)} TB`;
const percent = (part: number): string => `${Math.round(part * 100)} %`;
const formatWait = ({ p50Ms, p99Ms }: WaitPercentiles): string =>
  `${formatNumber(p50Ms)} / ${formatNumber(p99Ms)}`;

const formatCatchUp = (seconds: number | null): string =>
  seconds === null ? "not in the run" : duration(seconds);

/** Steps of a second: what took none of them took less than one. */
function duration(seconds: number): string {
  if (seconds === 0) return "under 1 s";
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${formatNumber(seconds / 60)} min` : `${formatNumber(seconds / 3_600)} h`;
}
