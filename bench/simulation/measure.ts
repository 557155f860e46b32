/** Measures one API and one worker process under steady load, phase by phase. */
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { processCpuUs } from "../process-usage.ts";
import {
  startDeliveryProcesses,
  startEngine,
  startSink,
  type EngineProcess,
  type DeliveryProcesses,
} from "../deliveries/processes.ts";
import { startServer, WAYMARK_NODE_FLAGS, type BenchServer } from "../servers.ts";
import { openHttpClient, type HttpClient } from "./http-client.ts";
import { startFlakyReceiver } from "./flaky-receiver.ts";
import { startOpenLoop } from "./open-loop-rate.ts";
import { createWorkload, type Workload } from "../workload.ts";
import { mapFigures, type Figures, type Phase, type Phases, type RowBytes } from "./costs.ts";
import {
  countConnections,
  countPending,
  countWritten,
  openSimulationDataset,
  readRowBytes,
  type SimulationDataset,
} from "./dataset.ts";

export interface SimulationOptions {
  folder: string;
  jobs: number;
  /** Duration of each phase. */
  seconds: number;
  /** Duration of each of the four warm-ups. */
  warmUpSeconds: number;
  /** Deliveries per second of the delivery phases. */
  rates: readonly number[];
  onProgress: (text: string) => void;
}

export interface SimulationMeasurement extends Phases {
  bytes: RowBytes;
  /** Connections to PostgreSQL by application name. */
  connections: [name: string, count: number][];
}

/** Items of a batch. */
export const BATCH = 20;
const [LISTS_PER_SECOND, CHANGES_PER_SECOND, BATCHED_PER_SECOND, RETRIED_PER_SECOND] = [600, 200, 1_000, 600];
/** In this data 80 % of the jobs have a contractor, and every organisation has an endpoint. */
const DELIVERIES_PER_CHANGE = 1.8;
/** Rate limits are counted in PostgreSQL, as with several APIs behind a balancer. */
const API_ENVIRONMENT = { RATE_LIMITS: "on", RATE_LIMIT_STORE: "postgres" };
const DRAIN_TIMEOUT_MS = 120_000;

interface SimulationBench {
  processes: DeliveryProcesses;
  dataset: SimulationDataset;
  api: BenchServer;
  worker: EngineProcess;
  calls: HttpClient;
  workload: Workload;
  mongo: MongoClient;
}

export async function measure(options: SimulationOptions): Promise<SimulationMeasurement> {
  const { folder, jobs, seconds, warmUpSeconds, rates, onProgress } = options;
  await using processes = await startDeliveryProcesses(folder, onProgress);
  await using dataset = await openSimulationDataset(processes.postgresUrl, jobs, onProgress);
  await using sink = await startSink();
  await using receiver = await startFlakyReceiver();
  await using api = await startServer("waymark", dataset.url, WAYMARK_NODE_FLAGS, {
    ...processes.env,
    ...API_ENVIRONMENT,
  });
  await using worker = await startEngine("waymark", dataset.url, processes);
  await worker.send({ do: "start" });
  await using calls = openHttpClient(api.url);
  await using mongo = new MongoClient(processes.env["MONGODB_URL"] ?? "");
  const workload = await createWorkload(dataset, { samplePercent: 100 });
  const bench: SimulationBench = { processes, dataset, api, worker, calls, workload, mongo };
  const run = async (name: string, secondsOfPhase: number, load: SimulatedWork): Promise<Phase> => {
    const phase = await runPhase(bench, secondsOfPhase, load);
    onProgress(`${name}: ${phase.reads} lists, ${phase.changes} changes, ${phase.deliveries} deliveries`);
    return phase;
  };

  const listsLoad: SimulatedWork = { kind: "lists", perSecond: LISTS_PER_SECOND };
  const changesLoad: SimulatedWork = { kind: "changes", perSecond: CHANGES_PER_SECOND };
  for (const load of [listsLoad, changesLoad, batchesFor(BATCHED_PER_SECOND)])
    await run("warming up", warmUpSeconds, load);
  const rest = await run("at rest", seconds, { kind: "nothing", perSecond: 1 });
  const lists = await run("lists", seconds, listsLoad);
  const changes = await run("changes", seconds, changesLoad);
  const batches = await run("batches", seconds, batchesFor(BATCHED_PER_SECOND));
  sink.send({
    do: "expect",
    count: Infinity,
    secrets: await dataset.addEndpoints(sink.url),
    keepTimes: false,
  });
  await run("warming up", warmUpSeconds, forDeliveries((rates.at(-1) ?? 0) / 2));
  const deliveries: SimulationMeasurement["deliveries"] = [];
  for (const meant of rates)
    deliveries.push({ meant, phase: await run(`${meant} deliveries/s`, seconds, forDeliveries(meant)) });
  const connections = [...(await countConnections(dataset.client))];
  await dataset.redirectEndpoints(receiver.url);
  const retries = await run("a third fails once", seconds, forDeliveries(RETRIED_PER_SECOND));
  const bytes = await readRowBytes(dataset.client);
  await worker.send({ do: "stop" });
  return { rest, lists, changes, batches, deliveries, retries, bytes, connections };
}

const batchesFor = (changes: number): SimulatedWork => ({ kind: "batches", perSecond: changes / BATCH });
const forDeliveries = (rate: number): SimulatedWork => batchesFor(rate / DELIVERIES_PER_CHANGE);

interface SimulatedWork {
  kind: "nothing" | "lists" | "changes" | "batches";
  /** Requests per second. */
  perSecond: number;
}

/** Runs from the first request until no delivery is pending, and counts everything that the processes do meanwhile. */
async function runPhase(bench: SimulationBench, seconds: number, work: SimulatedWork): Promise<Phase> {
  const { dataset, calls } = bench;
  // Otherwise autovacuum would clean up after the previous phase during this one.
  await dataset.client.query("vacuum analyze");
  await dataset.statements();
  const writtenBefore = await countWritten(dataset.client);
  const figuresBefore = await readFigures(bench);
  const startedMs = performance.now();
  let [reads, failed] = [0, 0];
  const next = requestsOf(bench.workload, work);
  const paced = startOpenLoop(work.perSecond, async () => {
    const request = next();
    if (!request) return;
    await calls.sendOk(request).then(
      () => (reads += request.method === "GET" ? 1 : 0),
      () => (failed += 1),
    );
  });
  await pause(seconds * 1_000);
  await paced.stop();
  await waitUntilDrained(dataset);
  const took = (performance.now() - startedMs) / 1_000;
  const figuresAfter = await readFigures(bench);
  const statements = await dataset.statements();
  const written = await countWritten(dataset.client);
  if (failed > 0) throw new Error(`${failed} requests of ${work.kind} failed`);
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

/** Returns a function that makes the next request. */
function requestsOf(workload: Workload, { kind }: SimulatedWork) {
  return () => {
    if (kind === "lists") return workload.lists(1, 10)[0];
    if (kind === "changes") return workload.updates(1)[0];
    if (kind === "batches") return workload.batches(1, BATCH)[0];
    return undefined;
  };
}

async function waitUntilDrained({ client }: SimulationDataset): Promise<void> {
  const deadlineMs = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const pending = await countPending(client);
    if (pending === 0) return;
    if (performance.now() > deadlineMs) throw new Error(`${pending} deliveries are still pending`);
    await pause(200);
  }
}

async function readFigures({ processes, dataset, api, worker, mongo }: SimulationBench): Promise<Figures> {
  const { rows } = await dataset.client.query<{ wal: number }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal",
  );
  const status = await mongo.db("admin").command({ serverStatus: 1 });
  const counters = status["opcounters"] as Record<string, unknown>;
  const { postgres, mongo: mongoUs } = processes.cpu();
  return {
    apiUs: processCpuUs(api.pid),
    workerUs: processCpuUs(worker.pid),
    postgresUs: postgres,
    mongoUs,
    statements: 0,
    walBytes: rows[0]?.wal ?? 0,
    mongoCommands: Object.values(counters).reduce<number>((sum, count) => sum + Number(count), 0),
  };
}
