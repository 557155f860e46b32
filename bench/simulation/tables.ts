/** What was measured and what was computed, as the two parts of docs/scaling.md. */
import { number } from "../report.ts";
import type { Assumptions } from "./assumptions.ts";
import type { Figures, PhaseCosts } from "./costs.ts";
import type { Disk, FleetSize } from "./fleet.ts";
import { BATCH, type Measured } from "./measure.ts";
import type { Scenario, Wait } from "./scenarios.ts";

export function costsTable({ bytes, connections }: Measured, costs: PhaseCosts): string {
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
    rowOf("a list of 10", costs.read),
    rowOf("a change that came by itself", costs.change),
    rowOf(`a change in a batch of ${BATCH}`, costs.batchedChange),
    ...costs.deliveries.map(({ meant, reached, figures }) =>
      rowOf(`a delivery, at ${number(meant)}/s (${number(reached)}/s came)`, figures),
    ),
    rowOf("a further attempt at a delivery", costs.retry),
    rowOf("a second in which nothing comes", costs.rest),
  ];
  const { job, event, delivery, attempt } = bytes;
  return [
    tableOf([head, ...rows]),
    `Bytes on disk of a row with its indexes: job ${number(job)}, event ${number(event)}, finished delivery ${number(delivery)}, attempt ${number(attempt)}.`,
    `Connections to PostgreSQL of one API and one worker under the last rate: ${connections.map(([name, count]) => `${name} ${count}`).join(", ")}.`,
  ].join("\n\n");
}

interface Computed {
  size: FleetSize;
  disk: Disk;
  waits: { primary: Wait; worker: Wait };
  deliveriesPerDay: number;
}

export function fleetTable(
  computed: Computed,
  assumptions: Assumptions,
  scenarios: readonly Scenario[],
): string {
  const { primary, worker } = computed.waits;
  return [
    tableOf([["what", "at the peak"], ...fleetRows(computed, assumptions)]),
    `Waiting at that utilisation, by chance alone, p50 / p99: a statement for a core of the primary ${wait(primary)} ms, a delivery for its worker's thread ${wait(worker)} ms.`,
    tableOf([SCENARIO_HEAD, ...scenarios.map(scenarioRow)]),
  ].join("\n\n");
}

function fleetRows(
  { size, disk, deliveriesPerDay }: Computed,
  { utilisation, coresOfPrimary, retentionDays }: Assumptions,
): string[][] {
  const { load, busyCores, primaryCores } = size;
  return [
    ["deliveries, changes, lists a second", list(load.deliveries, load.changes, load.reads)],
    [
      "cores fully busy: APIs, workers, PostgreSQL with lists, MongoDB",
      list(busyCores.api, busyCores.worker, busyCores.primary + busyCores.lists, busyCores.mongo),
    ],
    [`API processes, worker processes, at ${percent(utilisation)}`, list(size.apis, size.workers)],
    [
      `cores of the primary at ${percent(utilisation)}, answering lists; with lists on replicas`,
      list(primaryCores.withLists, primaryCores.without),
    ],
    ["cores of the replicas, all together", number(size.replicaCores)],
    ["statements a second", number(size.statements)],
    ["write-ahead log, MB/s", number(size.walBytes / 1e6)],
    ["commands of MongoDB a second", number(size.mongoCommands)],
    ["connections to PostgreSQL, pools at their defaults", number(size.connections)],
    [
      `deliveries a second that one primary of ${coresOfPrimary} cores carries`,
      number(size.deliveriesOfPrimary),
    ],
    [`shards of ${coresOfPrimary} cores`, number(size.shards)],
    ["deliveries a second that this fleet can send after an outage", number(size.deliveriesAtMost)],
    ["deliveries a day, in millions", number(deliveriesPerDay / 1e6)],
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
  const { arrived, delivered, mostWaiting, mostCaughtUpS, caughtUpS, biggestP99S, othersP99S } = outcome;
  return [
    name,
    number(arrived / 1e6),
    number(delivered / 1e6),
    number(mostWaiting / 1e3),
    duration(othersP99S),
    duration(biggestP99S),
    isOutage ? `${caughtUp(mostCaughtUpS)}, ${caughtUp(caughtUpS)}` : "-",
  ];
}

function rowOf(name: string, figures: Figures): string[] {
  const { apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands } = figures;
  return [name, ...[apiUs, workerUs, postgresUs, mongoUs, statements, walBytes, mongoCommands].map(number)];
}

function tableOf([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const list = (...values: number[]): string => values.map(number).join("; ");
const terabytes = (bytes: number): string => `${number(bytes / 1e12)} TB`;
const percent = (part: number): string => `${Math.round(part * 100)} %`;
const wait = ({ p50Ms, p99Ms }: Wait): string => `${number(p50Ms)} / ${number(p99Ms)}`;

const caughtUp = (seconds: number | null): string =>
  seconds === null ? "not in the run" : duration(seconds);

/** Steps of a second: what took none of them took less than one. */
function duration(seconds: number): string {
  if (seconds === 0) return "under 1 s";
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${number(seconds / 60)} min` : `${number(seconds / 3_600)} h`;
}
