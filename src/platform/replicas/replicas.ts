/**
 * Read replicas: physical standbys that answer statements in the primary's place, where their answer shows all that it has
 * to show. Whatever goes wrong with one, the primary answers, and nobody notices.
 */
import type { DatabaseOptions, Queryable } from "../postgres/database.ts";
import { isCancelled } from "../postgres/errors.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { startIntervalTask } from "../concurrency/interval-task.ts";
import { Replica, type ReplicaPool, type PrimaryState } from "./replica.ts";
import type { ReplicaResult } from "./query.ts";
import type { ReplicaMetrics } from "./metrics.ts";
import { openServerProbe, type ServerProbe } from "./probe.ts";
import { WalHistory } from "./wal-history.ts";
import type { Sql } from "../postgres/sql.ts";

export interface ReplicasOptions extends Omit<DatabaseOptions, "url" | "session"> {
  /** One for each replica. */
  urls: readonly string[];
  primaryUrl: string;
  logger: Logger;
  metrics: ReplicaMetrics;
}

export interface Replicas extends AsyncDisposable {
  readonly all: readonly Pick<Replica, "name" | "complaint" | "lagMs">[];
  /** Opens connections to each, for statements of one kind. */
  connect(session?: DatabaseOptions["session"]): Promise<ReplicaConnections>;
}

export interface ReaderOptions {
  /** Answers wherever no replica may. */
  primary: Queryable;
  /**
   * Asked while a replica answers: the number of the newest transaction that the answer has to show. It is to be found out
   * after it was asked for, so that it counts all that was answered to anybody before.
   */
  minHorizon: () => Promise<bigint>;
  /** When it aborts, nobody waits for the answer. */
  signal?: AbortSignal | undefined;
}

export interface ReplicaConnections {
  reader(reading: ReaderOptions): Queryable;
}

/** Between two looks at the primary and at each replica. */
const PROBE_INTERVAL_MS = 250;

export async function openReplicas(options: ReplicasOptions): Promise<Replicas> {
  const { urls, poolSize, entities, tracing, logger, metrics } = options;
  const replicas = urls.map((url, index) => new Replica(`replica_${index + 1}`, url));
  const primary: PrimaryState = { walHistory: new WalHistory(), systemIdentifier: null };
  const primaryProbe = openServerProbe(options.primaryUrl);
  const primaryTask = { name: "primary", work: () => probePrimary(primaryProbe, primary) };
  const replicaTasks = replicas.map((replica) => ({
    name: replica.name,
    work: () => probeReplica(replica, primary, logger),
  }));
  // The primary first: a replica is measured by it.
  await primaryTask.work();
  await Promise.all(replicaTasks.map(({ work }) => work()));
  // Each by itself: none waits for another that is slow to answer.
  const probeTasks = [primaryTask, ...replicaTasks].map(({ name, work }) =>
    startIntervalTask(name, PROBE_INTERVAL_MS, logger, work),
  );
  metrics.registerGauges(replicas);
  return {
    all: replicas,
    async connect(session = {}) {
      const pools = await Promise.all(
        replicas.map(async (replica) => ({
          replica,
          pool: await replica.open({ poolSize, entities, session, tracing }),
        })),
      );
      return { reader: (reading) => createReader(pools, reading, metrics) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(probeTasks.map((task) => task[Symbol.asyncDispose]()));
      await Promise.all([primaryProbe, ...replicas].map((part) => part[Symbol.asyncDispose]()));
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
  const before = replica.problem;
  await replica.probe(primary);
  const { name, problem } = replica;
  if (problem === before) return;
  if (problem === null) logger.info({ replica: name }, "a replica is asked for lists");
  else logger.warn({ replica: name, problem }, "a replica is left out; the primary answers in its place");
}

interface PooledReplica {
  replica: Replica;
  pool: ReplicaPool;
}

function createReader(
  replicas: readonly PooledReplica[],
  { primary, minHorizon, signal }: ReaderOptions,
  metrics: ReplicaMetrics,
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
        metrics.countQuery("primary", "no_replica");
        return await primary.query<Row>(statement);
      }
      const wanted = minHorizon();
      // Whoever waits for it below hears of its failure.
      wanted.catch(() => undefined);
      const answer = await queryReplica<Row>(chosen, statement);
      const horizon = answer?.horizon ?? null;
      if (answer && horizon !== null && (await wanted) < horizon) {
        metrics.countQuery(chosen.replica.name, "current");
        return answer.rows;
      }
      metrics.countQuery("primary", horizon === null ? "failed" : "changed");
      return await primary.query<Row>(statement);
    },
  };
}

/** Of those that may be asked, the one with the least to do. */
function pickLeastBusy(replicas: readonly PooledReplica[]): PooledReplica | undefined {
  let chosen: PooledReplica | undefined;
  for (const each of replicas) {
    if (!each.replica.isUsable) continue;
    if (!chosen || each.pool.inFlight < chosen.pool.inFlight) chosen = each;
  }
  return chosen;
}

/**
 * What is no fault of the replica's: too many wait for it, or the statement took too long. The primary would be asked the
 * dearest statements then, in the worst moment, beside the writes that it alone can do.
 */
function failsOnAnyServer(error: unknown): boolean {
  return error instanceof AppError && (error.cause === undefined || isCancelled(error.cause));
}
