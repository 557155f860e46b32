/**
 * Read replicas: streaming standbys that answer statements. A result counts if its snapshot has every change that the reader may
 * know of. Otherwise the primary answers.
 */
import { Counter, Gauge, type Registry } from "prom-client";
import { startIntervalTask } from "./concurrency/interval-task.ts";
import { untilAborted, withTimeout } from "./concurrency/timeout.ts";
import { AppError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import type { Database, Queryable } from "./postgres/database.ts";
import { isCancelled } from "./postgres/errors.ts";
import type { DatabaseOptions } from "./postgres/orm-options.ts";
import { sql, type Sql } from "./postgres/sql.ts";
import type { Principal } from "./principal.ts";

interface ReplicasOptions {
  /** One for each replica. */
  urls: readonly string[];
  primary: Database;
  poolSize: number;
  /** Returns the feed sequence of the newest change that an organisation (UUID) may know of. Called for each statement. */
  newestChange: (organizationId: string) => Promise<bigint>;
  logger: Logger;
  registry: Registry;
}

/**
 * Returns where to run statements of a principal: on a replica that has its newest change, otherwise on `primary`. Operators read
 * from the primary: they see all organisations. When `signal` aborts, the statement is cancelled.
 */
export type CreateReader = (
  primary: Queryable,
  principal: Pick<Principal, "organizationId">,
  signal?: AbortSignal,
) => Queryable;

export interface Replicas extends AsyncDisposable {
  readonly all: readonly Pick<Replica, "name" | "problem">[];
  /** Opens a pool to each replica, with these PostgreSQL settings in addition to the default ones. */
  connect(session?: DatabaseOptions["session"]): Promise<CreateReader>;
}

/** A position in the write-ahead log, in bytes. `systemId` is the same for a server and its copies. */
type Position = Readonly<{ position: number; isStandby: boolean; systemId: string }>;

const POLL_INTERVAL_MS = 250;
const POLL_TIMEOUT_MS = 1_000;
/** A replica that lags further behind is left out. */
const MAX_LAG_MS = 2_000;
const BEHIND = `more than ${MAX_LAG_MS / 1_000} s behind`;

const POSITION = sql`select is_standby as "isStandby", system_identifier::text as "systemId",
  pg_wal_lsn_diff(case when is_standby then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0')::float8 as position
  from pg_is_in_recovery() is_standby, pg_control_system()`;

interface Replica {
  readonly name: string;
  readonly url: string;
  /** A separate pool: a busy one would delay the polls. */
  readonly poller: Database;
  /** Why it is left out, or null. */
  problem: string | null;
  /** It has everything that the primary had at this time of the monotonic clock. */
  currentAtMs: number;
  /** Aborted while there is a problem. */
  leftOut: AbortController;
}

function lagMsOf({ currentAtMs }: Replica): number {
  return performance.now() - currentAtMs;
}

/** Polls the primary and each replica once, then every 250 ms. Never fails because a server is unreachable. */
export async function openReplicas(options: ReplicasOptions): Promise<Replicas> {
  const { urls, primary, poolSize, newestChange, logger, registry } = options;
  const opened = new AsyncDisposableStack();
  const openPool = async (settings: Parameters<Database["openPool"]>[0]): Promise<Database> =>
    opened.use(await primary.openPool(settings));
  const primaryPoller = await openPool({ poolSize: 1 });
  const replicas = await Promise.all(
    urls.map(async (url, index): Promise<Replica> => {
      const poller = await openPool({ url, poolSize: 1 });
      const state = { problem: "unprobed", currentAtMs: -Infinity, leftOut: new AbortController() };
      return { name: `replica_${index + 1}`, url, poller, ...state };
    }),
  );
  const samples: { position: number; atMs: number }[] = [];
  const poll = (): Promise<void> => pollOnce(primaryPoller, replicas, samples, logger);
  await poll();
  opened.use(startIntervalTask("poll replicas", POLL_INTERVAL_MS, logger, poll));
  const readQueries = registerMetrics(registry, replicas);
  return {
    all: replicas,
    async connect(session = {}) {
      const pools = await Promise.all(replicas.map(({ url }) => openPool({ url, poolSize, session })));
      /** Returns null if the primary has to answer. */
      const query = async <Row>(
        statement: Sql,
        organizationId: string,
        signal: AbortSignal | undefined,
      ): Promise<Row[] | null> => {
        const usable = replicas.filter((one) => one.problem === null && lagMsOf(one) <= MAX_LAG_MS);
        const replica = usable[Math.floor(Math.random() * usable.length)];
        if (!replica) {
          readQueries.inc({ server: "primary", reason: "no_replica" });
          return null;
        }
        const pool = pools[replicas.indexOf(replica)] as Database;
        const [newest, result] = await Promise.all([
          newestChange(organizationId),
          queryReplica<Row>(replica, pool, statement, signal),
        ]);
        if (result && newest < result.horizon) {
          readQueries.inc({ server: replica.name, reason: "current" });
          return result.rows;
        }
        readQueries.inc({ server: "primary", reason: result ? "changed" : "failed" });
        return null;
      };
      return (fallback, { organizationId }, signal) =>
        organizationId === null
          ? fallback
          : {
              query: async <Row>(statement: Sql) =>
                (await query<Row>(statement, organizationId, signal)) ??
                (await fallback.query<Row>(statement)),
            };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function pollOnce(
  primary: Database,
  replicas: readonly Replica[],
  samples: { position: number; atMs: number }[],
  logger: Logger,
): Promise<void> {
  const positions = await Promise.all(replicas.map(({ poller }) => readPosition(poller)));
  const atMs = performance.now();
  // After the replicas: none can be ahead of its primary.
  const newest = await readPosition(primary);
  if (newest) samples.push({ position: newest.position, atMs });
  while (samples.length > MAX_LAG_MS / POLL_INTERVAL_MS) samples.shift();
  for (const [index, replica] of replicas.entries()) {
    const found = positions[index] ?? null;
    const sample = samples.findLast(({ position }) => found !== null && position <= found.position);
    replica.currentAtMs = sample?.atMs ?? -Infinity;
    const problem = problemOf(found, newest) ?? (lagMsOf(replica) > MAX_LAG_MS ? BEHIND : null);
    if (problem === replica.problem) continue;
    replica.problem = problem;
    const { name } = replica;
    if (problem === null) {
      replica.leftOut = new AbortController();
      logger.info({ replica: name }, "a replica answers lists");
    } else {
      replica.leftOut.abort();
      logger.warn({ replica: name, problem }, "a replica is left out; the primary answers instead");
    }
  }
}

/** Returns null if the server doesn't answer within a second. */
async function readPosition(poller: Database): Promise<Position | null> {
  const rows = poller.query<Position>(POSITION).catch(() => []);
  const [position] = (await withTimeout(rows, POLL_TIMEOUT_MS)) ?? [];
  return position ?? null;
}

function problemOf(found: Position | null, primary: Position | null): string | null {
  if (found === null) return "unreachable";
  if (!found.isStandby) return "not a standby";
  if (primary === null) return "primary unreachable";
  if (found.systemId !== primary.systemId) return "belongs to another primary";
  return found.position > primary.position ? "diverged" : null;
}

/** Returns null if the statement fails, or once the replica is left out: waiting longer could take forever. */
async function queryReplica<Row>(
  { leftOut }: Replica,
  pool: Database,
  statement: Sql,
  signal: AbortSignal | undefined,
): Promise<SnapshotRows<Row> | null> {
  const database = signal ? pool.withSignal(signal) : pool;
  try {
    const rows = await untilAborted(database.query<object>(withHorizon(statement)), leftOut.signal);
    return rows ? parseRows<Row>(rows) : null;
  } catch (error) {
    // An overloaded pool or a timeout: sending these expensive statements to the primary would slow down writes when load is highest.
    const failsOnAnyServer =
      error instanceof AppError && (error.cause === undefined || isCancelled(error.cause));
    if (signal?.aborted || failsOnAnyServer) throw error;
    return null;
  }
}

interface SnapshotRows<Row> {
  readonly rows: Row[];
  /** `rows` have the effects of all transactions below this feed sequence. */
  readonly horizon: bigint;
}

/** Adds two columns: the horizon of the snapshot, and whether there is a row. Without rows, there is one with the horizon alone. */
export function withHorizon(statement: Sql): Sql {
  // A materialized CTE keeps the order of the statement. `feed_sequence` numbers transactions as the feed does, also after a restore.
  return sql`with replica_result as materialized (${statement})
    select case when pg_is_in_recovery() then feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))::text end as replica_horizon, result.*
    from (select) one left join (select true as is_row, * from replica_result) result on true`;
}

/** Returns null if the server that answered is not a standby. */
export function parseRows<Row>(rows: readonly object[]): SnapshotRows<Row> | null {
  const [first] = rows as readonly { replica_horizon: string | null; is_row: true | null }[];
  if (!first || first.replica_horizon === null) return null;
  return {
    rows: first.is_row === null ? [] : (rows as unknown as Row[]),
    horizon: BigInt(first.replica_horizon),
  };
}

function registerMetrics(registry: Registry, replicas: readonly Replica[]) {
  const registers = [registry];
  const up = new Gauge({
    name: "waymark_replica_up",
    help: "1 if the replica answers queries, 0 if it has a problem and is left out",
    labelNames: ["replica"] as const,
    registers,
    collect() {
      for (const { name, problem } of replicas) up.set({ replica: name }, problem === null ? 1 : 0);
    },
  });
  const lag = new Gauge({
    name: "waymark_replica_lag_seconds",
    help: "Time since the replica had every change of the primary; absent while that is unknown",
    labelNames: ["replica"] as const,
    registers,
    collect() {
      lag.reset();
      for (const replica of replicas)
        if (Number.isFinite(replica.currentAtMs))
          lag.set({ replica: replica.name }, lagMsOf(replica) / 1_000);
    },
  });
  return new Counter({
    name: "waymark_read_queries_total",
    help: "Statements of lists and aggregates by the server that answered and the reason: current (a replica was up to date), or the primary because the replica lacked a recent change (changed), failed (failed), or no replica was usable (no_replica)",
    labelNames: ["server", "reason"] as const,
    registers,
  });
}
