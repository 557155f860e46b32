/** Formats the measured costs and the computed fleet for docs/engineering/capacity.md. */
import { formatNumber, formatTable } from "../report.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Figures, PhaseCosts } from "./costs.ts";
import type { DiskUsage, FleetSize } from "./fleet.ts";
import { BATCH, type CapacityMeasurement } from "./measure.ts";

export function costsTable({ bytes }: CapacityMeasurement, costs: PhaseCosts): string {
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
  ].join("\n\n");
}

export function fleetTable(
  size: FleetSize,
  disk: DiskUsage,
  { utilisation, coresOfPrimary, retentionDays }: Assumptions,
): string {
  const { load, busyCores, primaryCoreCounts } = size;
  return formatTable([
    ["figure", "at the peak"],
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
    ["deliveries per day, in millions", formatNumber(disk.deliveriesPerDay / 1e6)],
    [
      `disk for ${retentionDays} days: deliveries, attempts`,
      `${terabytes(disk.deliveries)}, ${terabytes(disk.attempts)}`,
    ],
    ["disk for a year of events, which are never deleted", terabytes(disk.eventsOfYear)],
  ]);
}

function formatRow(name: string, figures: Figures): string[] {
  const { apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands } = figures;
  return [
    name,
    ...[apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands].map(formatNumber),
  ];
}

const joinNumbers = (...values: number[]): string => values.map(formatNumber).join("; ");
const terabytes = (bytes: number): string => `${formatNumber(bytes / 1e12)} TB`;
const percent = (part: number): string => `${Math.round(part * 100)} %`;
