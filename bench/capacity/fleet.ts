/** Computes the fleet for the peak load from the cost of each kind of work. */
import { API_CONNECTIONS, WORKER_CONNECTIONS, WORKER_SLOTS, type Assumptions } from "./assumptions.ts";
import { sumFigures, type Costs, type Figures } from "./costs.ts";

/** Rates per second. */
export interface FleetLoad {
  reads: number;
  changes: number;
  deliveries: number;
  retries: number;
}

interface Cores {
  api: number;
  worker: number;
  /** Without lists, which replicas can answer. */
  primary: number;
  lists: number;
  mongo: number;
}

export interface FleetSize {
  load: FleetLoad;
  /** CPU seconds per second. */
  busyCores: Cores;
  apis: number;
  workers: number;
  /** Cores of the primary at the target utilisation, when it answers lists itself (`withLists`) and when replicas do. */
  primaryCoreCounts: { withLists: number; without: number };
  replicaCores: number;
  statements: number;
  walBytes: number;
  mongoCommands: number;
  connections: number;
  /** Primaries with `coresOfPrimary` cores, with lists on replicas. */
  shards: number;
  /** Deliveries per second of one primary, with lists on replicas. */
  deliveriesPerPrimary: number;
  /** Deliveries per second that can be sent after an outage, with new changes at the usual rate and CPU fully used. */
  maxDeliveries: number;
}

function computeLoad(deliveries: number, assumptions: Assumptions): FleetLoad {
  const changes = deliveries / assumptions.deliveriesPerChange;
  return {
    reads: changes * assumptions.readsPerChange,
    changes,
    deliveries,
    retries: deliveries * assumptions.retriedShare,
  };
}

/** Adds up all work except lists. */
function sumWork(load: FleetLoad, costs: Costs, { batchedShare }: Assumptions): Figures {
  return sumFigures([
    { figures: costs.change, count: load.changes * (1 - batchedShare) },
    { figures: costs.batchedChange, count: load.changes * batchedShare },
    { figures: costs.delivery, count: load.deliveries },
    { figures: costs.retry, count: load.retries },
  ]);
}

export function sizeFleet(costs: Costs, assumptions: Assumptions): FleetSize {
  const { utilisation, answerS, coresOfPrimary, deliveriesPerSecond } = assumptions;
  const load = computeLoad(deliveriesPerSecond, assumptions);
  const work = sumWork(load, costs, assumptions);
  const lists = sumFigures([{ figures: costs.read, count: load.reads }]);
  const cores: Cores = {
    api: (work.apiUs + lists.apiUs) / 1e6,
    worker: work.workerUs / 1e6,
    primary: work.postgresUs / 1e6,
    lists: lists.postgresUs / 1e6,
    mongo: work.mongoUs / 1e6,
  };
  const apis = Math.ceil(cores.api / utilisation);
  const slots = (load.deliveries + load.retries) * answerS;
  const workers = Math.ceil(Math.max(cores.worker, slots / WORKER_SLOTS) / utilisation);
  return {
    load,
    busyCores: cores,
    apis,
    workers,
    primaryCoreCounts: {
      withLists: (cores.primary + cores.lists) / utilisation,
      without: cores.primary / utilisation,
    },
    replicaCores: cores.lists / utilisation,
    statements: work.statements + lists.statements,
    walBytes: work.walBytes,
    mongoCommands: work.mongoCommands,
    connections: apis * API_CONNECTIONS + workers * WORKER_CONNECTIONS,
    shards: Math.max(1, Math.ceil(cores.primary / utilisation / coresOfPrimary)),
    deliveriesPerPrimary: (deliveriesPerSecond * coresOfPrimary * utilisation) / cores.primary,
    maxDeliveries: Math.min(
      (load.deliveries * workers) / cores.worker,
      (workers * WORKER_SLOTS) / answerS,
      deliveriesBesideChanges(costs, assumptions, { cores, load }),
    ),
  };
}

/** Returns the deliveries per second that the primary can handle besides its changes. */
function deliveriesBesideChanges(
  costs: Costs,
  assumptions: Assumptions,
  { cores, load }: { cores: Cores; load: FleetLoad },
): number {
  const changes = sumWork({ ...load, deliveries: 0, retries: 0 }, costs, assumptions).postgresUs / 1e6;
  const ofDelivery = (cores.primary - changes) / load.deliveries;
  return (cores.primary / assumptions.utilisation - changes) / ofDelivery;
}

const DAY_S = 86_400;

/** Bytes on disk. Events are never deleted, so they are given per year; the others for the retention period. */
export interface DiskUsage {
  deliveriesPerDay: number;
  deliveries: number;
  attempts: number;
  eventsOfYear: number;
}

/** The rate of the day is a cosine between its peak and its night. */
export function estimateDisk(costs: Costs, assumptions: Assumptions): DiskUsage {
  const { deliveriesPerSecond, nightShare, retentionDays, retriedShare, deliveriesPerChange } = assumptions;
  const deliveriesPerDay = (deliveriesPerSecond * DAY_S * (1 + nightShare)) / 2;
  const kept = deliveriesPerDay * retentionDays;
  return {
    deliveriesPerDay,
    deliveries: kept * costs.bytes.delivery,
    attempts: kept * (1 + retriedShare) * costs.bytes.attempt,
    eventsOfYear: ((deliveriesPerDay * 365) / deliveriesPerChange) * costs.bytes.event,
  };
}
