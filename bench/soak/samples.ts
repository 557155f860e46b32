/** Takes a sample of each process (from /proc and /metrics) and of both databases every few seconds. */
import { readdirSync, readFileSync } from "node:fs";
import type { Collection } from "mongodb";
import type pg from "pg";
import { processCpuUs, processTreeCpuUs } from "../process-usage.ts";
import type { SoakProcess, SoakProcesses } from "./processes.ts";

export interface ProcessSample {
  name: string;
  role: "api" | "worker";
  rssMb: number;
  heapMb: number;
  /** Event loop delay since the previous sample. */
  loopP99Ms: number;
  loopMaxMs: number;
  /** Queries waiting for a connection to PostgreSQL. */
  poolWaiting: number;
  descriptors: number;
}

export interface TableSample {
  name: string;
  mb: number;
  rows: number;
  deadRows: number;
}

export interface Sample {
  atMs: number;
  processes: ProcessSample[];
  tables: TableSample[];
  connections: number;
  agendaTasks: number;
  /** Seconds that the oldest due delivery of a reliable endpoint is overdue; 0 if none is due. */
  oldestDueS: number;
  /** CPU seconds used so far. */
  cpu: Record<CpuOwner, number>;
}

export type CpuOwner = "APIs" | "workers" | "PostgreSQL" | "MongoDB";

/** Tables that requests and deliveries write to, and that could grow without limit. */
const TABLES = [
  "job",
  "job_event",
  "job_counter_delta",
  "webhook_delivery_pending",
  "idempotency_record",
  "rate_limit_bucket",
  "user_session",
];
const METRICS_TIMEOUT_MS = 10_000;

export interface SampleSource {
  soak: SoakProcesses;
  agenda: Collection;
  /** Uuids of the endpoints whose receivers accept every event sooner or later. */
  reliableEndpointIds: readonly string[];
}

export async function takeSample({ soak, agenda, reliableEndpointIds }: SampleSource): Promise<Sample> {
  const { client } = soak;
  const [processes, agendaTasks] = await Promise.all([
    Promise.all(soak.processes.map(sampleProcess)),
    agenda.countDocuments(),
  ]);
  const tables = await sampleTables(client);
  const connections = await queryFigure(client, CONNECTIONS);
  const oldestDueS = await queryFigure(client, OLDEST_DUE, [reliableEndpointIds]);
  return { atMs: Date.now(), processes, tables, connections, oldestDueS, agendaTasks, cpu: readCpu(soak) };
}

function readCpu({ processes, postmasterPid, mongodPid }: SoakProcesses): Sample["cpu"] {
  const ofRole = (role: SoakProcess["role"]): number =>
    processes.filter((one) => one.role === role).reduce((sum, { pid }) => sum + processCpuUs(pid), 0) / 1e6;
  return {
    APIs: ofRole("api"),
    workers: ofRole("worker"),
    PostgreSQL: processTreeCpuUs(postmasterPid) / 1e6,
    MongoDB: processCpuUs(mongodPid) / 1e6,
  };
}

async function sampleProcess({ name, role, url, pid }: SoakProcess): Promise<ProcessSample> {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(METRICS_TIMEOUT_MS) });
  const figure = readFigures(await response.text());
  return {
    name,
    role,
    rssMb: residentMb(pid),
    heapMb: figure("nodejs_heap_size_used_bytes") / 1024 ** 2,
    loopP99Ms: figure("nodejs_eventloop_lag_p99_seconds") * 1_000,
    loopMaxMs: figure("nodejs_eventloop_lag_max_seconds") * 1_000,
    poolWaiting: figure('waymark_db_pool_connections{state="waiting"}'),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}

/** Returns a function that finds a figure by metric name and labels; 0 if it is missing. */
function readFigures(text: string): (name: string) => number {
  const figures = new Map<string, number>();
  for (const line of text.split("\n")) {
    const end = line.lastIndexOf(" ");
    if (!line.startsWith("#") && end > 0) figures.set(line.slice(0, end), Number(line.slice(end + 1)));
  }
  return (name) => figures.get(name) ?? 0;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

async function sampleTables(client: pg.Client): Promise<TableSample[]> {
  const { rows } = await client.query<TableSample>(
    `select relname as name, pg_total_relation_size(relid) / 1048576::float8 as mb, n_live_tup::float8 as rows,
       n_dead_tup::float8 as "deadRows"
     from pg_stat_user_tables where relname = any($1) order by relname`,
    [TABLES],
  );
  return rows;
}

const CONNECTIONS =
  "select count(*)::float8 as figure from pg_stat_activity where backend_type = 'client backend'";

/** Ignores deliveries in flight, and endpoints that asked for a pause. */
const OLDEST_DUE = `
  select coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as figure
  from webhook_delivery join webhook_endpoint endpoint on endpoint.id = endpoint_id
  where webhook_delivery.status = 'pending' and endpoint_id = any($1) and lease_token is null and due_at < now()
    and coalesce(endpoint.blocked_until, '-infinity') < now()`;

async function queryFigure(client: pg.Client, text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await client.query<{ figure: number }>(text, values);
  return rows[0]?.figure ?? 0;
}
