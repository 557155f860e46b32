/** Measures one API and one worker process under steady load, phase by phase. */
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { countStatements, openPostgres, type StatementCounts } from "../database.ts";
import { insertEndpoints, pointEndpoints } from "../deliveries/dataset.ts";
import {
  startDeliveryServers,
  startEngine,
  startSink,
  type DeliveryServers,
} from "../deliveries/processes.ts";
import { onProgress } from "../environment.ts";
import type { LoadRequest } from "../load.ts";
import { processCpuUs } from "../process-usage.ts";
import type { JobsDatabase } from "../seed.ts";
import { startLoadGenerator, startServer, type BenchServer, type LoadGenerator } from "../servers.ts";
import { createWorkload, type Workload } from "../workload.ts";
import { mapFigures, type Figures, type Phase, type Phases, type RowBytes } from "./costs.ts";
import { countPending, countWritten, openCapacityDataset, readRowBytes } from "./dataset.ts";

export interface CapacityOptions {
  jobs: number;
  /** Duration of each phase. */
  seconds: number;
  /** Duration of each of the four warm-ups. */
  warmUpSeconds: number;
  /** Deliveries per second of the delivery phases. */
  rates: readonly number[];
}

export interface CapacityMeasurement extends Phases {
  bytes: RowBytes;
}

/** Items of a batch. */
export const BATCH = 20;
const [LISTS_PER_SECOND, CHANGES_PER_SECOND, BATCHED_PER_SECOND, RETRIED_PER_SECOND] = [600, 200, 1_000, 600];
/** In this data 80 % of the jobs have a contractor, and every organisation has an endpoint. */
const DELIVERIES_PER_CHANGE = 1.8;
/** Rate limits are counted in PostgreSQL, as with several APIs behind a balancer. */
const API_ENVIRONMENT = { RATE_LIMITS: "on", RATE_LIMIT_STORE: "postgres" };
const DRAIN_TIMEOUT_MS = 120_000;

const CONNECTIONS = 48;

interface CapacityBench {
  servers: DeliveryServers;
  database: JobsDatabase;
  takeCounts: () => Promise<StatementCounts>;
  api: BenchServer;
  workerPid: number;
  load: LoadGenerator;
  workload: Workload;
  mongo: MongoClient;
}

export async function measure(options: CapacityOptions): Promise<CapacityMeasurement> {
  const { jobs, seconds, warmUpSeconds, rates } = options;
  // A checkpoint during a measurement would cause full-page writes.
  await using postgres = await openPostgres({ checkpoint_timeout: "1h" });
  await using servers = await startDeliveryServers(postgres);
  await using database = await openCapacityDataset(postgres, jobs);
  const takeCounts = await countStatements(database.client);
  await using sink = await startSink();
  const env = { ...servers.env, ...API_ENVIRONMENT };
  await using api = await startServer("waymark", database.url, { env });
  await using worker = await startEngine("waymark", database.url, servers);
  await worker.send({ do: "start" });
  await using load = startLoadGenerator();
  await using mongo = new MongoClient(servers.env.MONGODB_URL);
  const workload = await createWorkload(database, { samplePercent: 100 });
  const processes = { servers, api, workerPid: worker.pid, load, mongo };
  const bench: CapacityBench = { ...processes, database, takeCounts, workload };
  const run = async (name: string, secondsOfPhase: number, work: Work): Promise<Phase> => {
    const phase = await runPhase(bench, secondsOfPhase, work);
    onProgress(`${name}: ${phase.reads} lists, ${phase.changes} changes, ${phase.deliveries} deliveries`);
    return phase;
  };

  const listsLoad: Work = { kind: "lists", perSecond: LISTS_PER_SECOND };
  const changesLoad: Work = { kind: "changes", perSecond: CHANGES_PER_SECOND };
  for (const work of [listsLoad, changesLoad, batchesFor(BATCHED_PER_SECOND)])
    await run("warming up", warmUpSeconds, work);
  const rest = await run("at rest", seconds, { kind: "nothing", perSecond: 1 });
  const lists = await run("lists", seconds, listsLoad);
  const changes = await run("changes", seconds, changesLoad);
  const batches = await run("batches", seconds, batchesFor(BATCHED_PER_SECOND));
  const { client, organizations } = database;
  const ids = organizations.map(({ id }) => id);
  const secrets = await insertEndpoints(client, ids, ids.length);
  await pointEndpoints(client, sink.url);
  sink.send({ do: "expect", count: Infinity, secrets, keepTimes: false });
  await run("warming up", warmUpSeconds, forDeliveries((rates.at(-1) ?? 0) / 2));
  const deliveries: CapacityMeasurement["deliveries"] = [];
  for (const meant of rates)
    deliveries.push({ meant, phase: await run(`${meant} deliveries/s`, seconds, forDeliveries(meant)) });
  await pointEndpoints(client, sink.url, "flaky");
  const retries = await run("a third fails once", seconds, forDeliveries(RETRIED_PER_SECOND));
  const bytes = await readRowBytes(client);
  await worker.send({ do: "stop" });
  return { rest, lists, changes, batches, deliveries, retries, bytes };
}

const batchesFor = (changes: number): Work => ({ kind: "batches", perSecond: changes / BATCH });
const forDeliveries = (rate: number): Work => batchesFor(rate / DELIVERIES_PER_CHANGE);

interface Work {
  kind: "nothing" | "lists" | "changes" | "batches";
  /** Requests per second. */
  perSecond: number;
}

/** Runs from the first request until no delivery is pending, and counts everything that the processes do meanwhile. */
async function runPhase(bench: CapacityBench, seconds: number, work: Work): Promise<Phase> {
  const { client } = bench.database;
  // Otherwise autovacuum would clean up after the previous phase during this one.
  await client.query("vacuum analyze");
  await bench.takeCounts();
  const writtenBefore = await countWritten(client);
  const figuresBefore = await readFigures(bench);
  const startedMs = performance.now();
  const reads = await sendRequests(bench, seconds, work);
  await waitUntilDrained(client);
  const took = (performance.now() - startedMs) / 1_000;
  const figuresAfter = await readFigures(bench);
  const { calls: statements } = await bench.takeCounts();
  const written = await countWritten(client);
  const deliveries = written.deliveries - writtenBefore.deliveries;
  return {
    seconds: took,
    reads,
    changes: written.events - writtenBefore.events,
    deliveries,
    retries: written.attempts - writtenBefore.attempts - deliveries,
    figures: {
      ...mapFigures((name) => figuresAfter[name] - figuresBefore[name]),
      statements,
    },
  };
}

/** Sends requests at random times and returns the number of lists. Throws if one fails. */
async function sendRequests(
  { load, api, workload }: CapacityBench,
  seconds: number,
  { kind, perSecond }: Work,
): Promise<number> {
  if (kind === "nothing") {
    await pause(seconds * 1_000);
    return 0;
  }
  // More than will be sent, because a repeated change would change nothing.
  const count = Math.ceil(perSecond * seconds * 1.5) + 50;
  const makers: Record<typeof kind, () => LoadRequest[]> = {
    lists: () => workload.lists(count, 10),
    changes: () => workload.updates(count),
    batches: () => workload.batches(count, BATCH),
  };
  const phase = { name: kind, connections: CONNECTIONS, seconds, rate: perSecond };
  const sent = await load.run({ url: api.url, requests: makers[kind](), phases: [phase] });
  const failed = sent.filter(({ status }) => status !== 200).length;
  if (failed > 0) throw new Error(`${failed} requests of ${kind} failed`);
  return kind === "lists" ? sent.length : 0;
}

async function waitUntilDrained(client: JobsDatabase["client"]): Promise<void> {
  const deadlineMs = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const pending = await countPending(client);
    if (pending === 0) return;
    if (performance.now() > deadlineMs) throw new Error(`${pending} deliveries are still pending`);
    await pause(200);
  }
}

async function readFigures({ servers, database, api, workerPid, mongo }: CapacityBench): Promise<Figures> {
  const { rows } = await database.client.query<{ wal: number }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal",
  );
  const status = await mongo.db("admin").command({ serverStatus: 1 });
  const counters = status["opcounters"] as Record<string, unknown>;
  const { postgresUs, mongoUs } = servers.cpu();
  return {
    apiUs: processCpuUs(api.pid),
    workerUs: processCpuUs(workerPid),
    postgresUs,
    mongoUs,
    statements: 0,
    walBytes: rows[0]?.wal ?? 0,
    mongoCommands: Object.values(counters).reduce<number>((sum, count) => sum + Number(count), 0),
  };
}
