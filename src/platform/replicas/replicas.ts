/**
 * Read replicas: physical standbys that answer statements if their data is recent enough. If a replica fails or lags, the
 * primary answers instead.
 */
import type { Registry } from "prom-client";
import type { DatabaseOptions, Queryable } from "../postgres/database.ts";
import { isCancelled } from "../postgres/errors.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { startIntervalTask } from "../concurrency/interval-task.ts";
import { Replica, type ReplicaPool, type ReplicaResult, type PrimaryState } from "./replica.ts";
import { registerReplicaMetrics, type CountQuery } from "./metrics.ts";
import { ServerProbe } from "./probe.ts";
import { WalHistory } from "./wal-history.ts";
import type { Sql } from "../postgres/sql.ts";

export interface ReplicasOptions extends Omit<DatabaseOptions, "url" | "session"> {
  /** One for each replica. */
  urls: readonly string[];
  primaryUrl: string;
  logger: Logger;
  registry: Registry;
}

export interface Replicas extends AsyncDisposable {
  readonly all: readonly Pick<Replica, "name" | "statusMessage" | "lagMs" | "isUsable">[];
  /** Opens a pool to each replica, with these session settings, and returns a function that creates readers on them. */
  connect(session?: DatabaseOptions["session"]): Promise<(options: ReaderOptions) => Queryable>;
}

export interface ReaderOptions {
  /** Answers if no replica can. */
  primary: Queryable;
  /**
   * Returns the number of the newest transaction that the result must include. Called for each statement, in parallel with
   * the replica's query. It must read the number after the call, so that it covers all earlier responses.
   */
  minHorizon: () => Promise<bigint>;
  /** When it aborts, the statement is cancelled. */
  signal?: AbortSignal | undefined;
}

const PROBE_INTERVAL_MS = 250;

/** Probes the primary and each replica once, then every 250 ms. Never fails because a server is unreachable. */
export async function openReplicas(options: ReplicasOptions): Promise<Replicas> {
  const { urls, poolSize, entities, tracing, logger, registry } = options;
  const replicas = urls.map((url, index) => new Replica(`replica_${index + 1}`, url));
  const primary: PrimaryState = { walHistory: new WalHistory(), systemIdentifier: null };
  const primaryProbe = new ServerProbe(options.primaryUrl);
  const primaryTask = { name: "primary", work: () => probePrimary(primaryProbe, primary) };
  const replicaTasks = replicas.map((replica) => ({
    name: replica.name,
    work: () => probeReplica(replica, primary, logger),
  }));
  // The primary first, because a replica's lag is measured against it.
  await primaryTask.work();
  await Promise.all(replicaTasks.map(({ work }) => work()));
  // One task each, so that a slow server does not delay the probes of the others.
  const probeTasks = [primaryTask, ...replicaTasks].map(({ name, work }) =>
    startIntervalTask(name, PROBE_INTERVAL_MS, logger, work),
  );
  const countQuery = registerReplicaMetrics(registry, replicas);
  return {
    all: replicas,
    async connect(session = {}) {
      const pools = await Promise.all(
        replicas.map(async (replica) => ({
          replica,
          pool: await replica.open({ poolSize, entities, session, tracing }),
        })),
      );
      return (reading) => createReader(pools, reading, countQuery);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(probeTasks.map((task) => task[Symbol.asyncDispose]()));
      primaryProbe[Symbol.dispose]();
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    },
  };
}

async function probePrimary(serverProbe: ServerProbe, state: PrimaryState): Promise<void> {
  const atMs = performance.now();
  const result = await serverProbe.probe().catch(() => null);
  if (!result || result.isStandby) return;
  state.walHistory.add(result.position, atMs);
  state.systemIdentifier = result.systemIdentifier;
}

async function probeReplica(replica: Replica, primary: PrimaryState, logger: Logger): Promise<void> {
  const previousProblem = replica.problem;
  await replica.probe(primary);
  const { name, problem } = replica;
  if (problem === previousProblem) return;
  if (problem === null) logger.info({ replica: name }, "a replica answers lists");
  else logger.warn({ replica: name, problem }, "a replica is left out; the primary answers instead");
}

interface PooledReplica {
  replica: Replica;
  pool: ReplicaPool;
}

function createReader(
  replicas: readonly PooledReplica[],
  { primary, minHorizon, signal }: ReaderOptions,
  countQuery: CountQuery,
): Queryable {
  const queryReplica = async <Row>(
    { replica, pool }: PooledReplica,
    statement: Sql,
  ): Promise<ReplicaResult<Row> | null> => {
    pool.inFlight += 1;
    try {
      return await replica.query<Row>(pool.database(signal), statement);
    } catch (error) {
      if (signal?.aborted || failsOnAnyServer(error)) throw error;
      return null;
    } finally {
      pool.inFlight -= 1;
    }
  };

  return {
    async query<Row>(statement: Sql) {
      const chosen = pickLeastBusy(replicas);
      if (!chosen) {
        countQuery("primary", "no_replica");
        return await primary.query<Row>(statement);
      }
      const requiredTransaction = minHorizon();
      // Avoids an unhandled rejection; the `await` below still throws it.
      requiredTransaction.catch(() => undefined);
      const result = await queryReplica<Row>(chosen, statement);
      const horizon = result?.horizon ?? null;
      if (result && horizon !== null && (await requiredTransaction) < horizon) {
        countQuery(chosen.replica.name, "current");
        return result.rows;
      }
      countQuery("primary", horizon === null ? "failed" : "changed");
      return await primary.query<Row>(statement);
    },
  };
}

/** Returns the usable replica with the fewest statements in flight. */
function pickLeastBusy(replicas: readonly PooledReplica[]): PooledReplica | undefined {
  let chosen: PooledReplica | undefined;
  for (const candidate of replicas) {
    if (!candidate.replica.isUsable) continue;
    if (!chosen || candidate.pool.inFlight < chosen.pool.inFlight) chosen = candidate;
  }
  return chosen;
}

/**
 * True if the pool is overloaded or the statement timed out. Sending these expensive statements to the primary would slow
 * down writes when load is highest.
 */
function failsOnAnyServer(error: unknown): boolean {
  return error instanceof AppError && (error.cause === undefined || isCancelled(error.cause));
}
