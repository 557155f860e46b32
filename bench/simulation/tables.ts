/** Formats the measured costs and the computed fleet for docs/engineering/capacity.md. */
import { formatNumber } from "../report.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Figures, PhaseCosts } from "./costs.ts";
import type { DiskUsage, FleetSize } from "./fleet.ts";
import { BATCH, type SimulationMeasurement } from "./measure.ts";
import type { Scenario, WaitPercentiles } from "./scenarios.ts";

export function costsTable({ bytes, connections }: SimulationMeasurement, costs: PhaseCosts): string {
  const head = [
    "work",
    "CPU µs: API",
    "worker",
    "PostgreSQL",
    "MongoDB",
    "statements",
    "bytes of write-ahead log",
    "MongoDB commands",
  ];
  const rows = [
    formatRow("list of 10", costs.read),
    formatRow("single change", costs.change),
    formatRow(`change in a batch of ${BATCH}`, costs.batchedChange),
    ...costs.deliveries.map(({ meant, reached, figures }) =>
      formatRow(`delivery, at ${formatNumber(meant)}/s (reached ${formatNumber(reached)}/s)`, figures),
    ),
    formatRow("retry of a delivery", costs.retry),
    formatRow("one second at rest", costs.rest),
  ];
  const { job, event, delivery, attempt } = bytes;
  return [
    formatTable([head, ...rows]),
    `Bytes on disk per row, including indexes: job ${formatNumber(job)}, event ${formatNumber(event)}, finished delivery ${formatNumber(delivery)}, attempt ${formatNumber(attempt)}.`,
    `Connections to PostgreSQL of one API and one worker at the highest rate: ${connections.map(([name, count]) => `${name} ${count}`).join(", ")}.`,
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
    formatTable([["figure", "at the peak"], ...fleetRows(computed, assumptions)]),
    `Random waiting time at that utilisation, p50 / p99: a statement for a core of the primary ${formatWait(primary)} ms, a delivery for its worker's thread ${formatWait(worker)} ms.`,
    formatTable([SCENARIO_HEAD, ...scenarios.map(scenarioRow)]),
  ].join("\n\n");
}

function fleetRows(
  { size, disk, deliveriesPerDay }: FleetComputation,
  { utilisation, coresOfPrimary, retentionDays }: Assumptions,
): string[][] {
  const { load, busyCores, primaryCoreCounts } = size;
  return [
    ["deliveries, changes, lists per second", joinNumbers(load.deliveries, load.changes, load.reads)],
    [
      "busy cores: APIs, workers, PostgreSQL with lists, MongoDB",
      joinNumbers(busyCores.api, busyCores.worker, busyCores.primary + busyCores.lists, busyCores.mongo),
    ],
    [`API processes, worker processes, at ${percent(utilisation)}`, joinNumbers(size.apis, size.workers)],
    [
      `cores of the primary at ${percent(utilisation)}: with lists; with lists on replicas`,
      joinNumbers(primaryCoreCounts.withLists, primaryCoreCounts.without),
    ],
    ["cores of all replicas", formatNumber(size.replicaCores)],
    ["statements per second", formatNumber(size.statements)],
    ["write-ahead log, MB/s", formatNumber(size.walBytes / 1e6)],
    ["MongoDB commands per second", formatNumber(size.mongoCommands)],
    ["connections to PostgreSQL with default pools", formatNumber(size.connections)],
    [
      `deliveries per second of one primary with ${coresOfPrimary} cores`,
      formatNumber(size.deliveriesPerPrimary),
    ],
    [`shards of ${coresOfPrimary} cores`, formatNumber(size.shards)],
    ["deliveries per second that this fleet can send after an outage", formatNumber(size.maxDeliveries)],
    ["deliveries per day, in millions", formatNumber(deliveriesPerDay / 1e6)],
    [
      `disk for ${retentionDays} days: deliveries, attempts`,
      `${terabytes(disk.deliveries)}, ${terabytes(disk.attempts)}`,
    ],
    ["disk for a year of events, which are never deleted", terabytes(disk.eventsOfYear)],
  ];
}

const SCENARIO_HEAD = [
  "scenario",
  "created, millions",
  "sent, millions",
  "largest backlog, thousands",
  "p99 wait of first attempts, other organisations",
  "the same, largest organisation",
  "no backlog after: 99 % of the organisations, all",
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
  seconds === null ? "not within the run" : duration(seconds);

/** Formats whole seconds; 0 means less than one. */
function duration(seconds: number): string {
  if (seconds === 0) return "under 1 s";
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${formatNumber(seconds / 60)} min` : `${formatNumber(seconds / 3_600)} h`;
}
