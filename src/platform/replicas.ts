/**
 * Read replicas: physical standbys that answer statements in the primary's place, where their answer shows all that it has
 * to show. Whatever goes wrong with one, the primary answers, and nobody notices.
 */
import type { DatabaseOptions, Queryable } from "./database.ts";
import { isCancelled } from "./database-errors.ts";
import { AppError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import { startRepeating } from "./repeating.ts";
import { Replica, type Lane, type PrimaryState } from "./replica.ts";
import type { ReplicaAnswer } from "./replica-answer.ts";
import type { ReplicaMetrics } from "./replica-metrics.ts";
import { openServerEye, type ServerEye } from "./replica-look.ts";
import { PrimaryPositions } from "./replica-positions.ts";
import type { Sql } from "./sql.ts";

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

export interface Reading {
  /** Answers wherever no replica may. */
  primary: Queryable;
  /**
   * Asked while a replica answers: the number of the newest transaction that the answer has to show. It is to be found out
   * after it was asked for, so that it counts all that was answered to anybody before.
   */
  newest: () => Promise<bigint>;
  /** When it aborts, nobody waits for the answer. */
  signal?: AbortSignal | undefined;
}

export interface ReplicaConnections {
  reader(reading: Reading): Queryable;
}

/** Between two looks at the primary and at each replica. */
const LOOK_EVERY_MS = 250;

export async function openReplicas(options: ReplicasOptions): Promise<Replicas> {
  const { urls, poolSize, entities, tracing, logger, metrics } = options;
  const replicas = urls.map((url, at) => new Replica(`replica_${at + 1}`, url));
  const primary: PrimaryState = { positions: new PrimaryPositions(), system: null };
  const eye = openServerEye(options.primaryUrl);
  const atPrimary = { name: "primary", work: () => lookAtPrimary(eye, primary) };
  const atReplicas = replicas.map((replica) => ({
    name: replica.name,
    work: () => lookAt(replica, primary, logger),
  }));
  // The primary first: a replica is measured by it.
  await atPrimary.work();
  await Promise.all(atReplicas.map(({ work }) => work()));
  // Each by itself: none waits for another that is slow to answer.
  const looking = [atPrimary, ...atReplicas].map(({ name, work }) =>
    startRepeating(name, LOOK_EVERY_MS, logger, work),
  );
  metrics.watch(replicas);
  return {
    all: replicas,
    async connect(session = {}) {
      const opened = await Promise.all(
        replicas.map(async (replica) => ({
          replica,
          lane: await replica.open({ poolSize, entities, session, tracing }),
        })),
      );
      return { reader: (reading) => createReader(opened, reading, metrics) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(looking.map((task) => task[Symbol.asyncDispose]()));
      await Promise.all([eye, ...replicas].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}

async function lookAtPrimary(eye: ServerEye, state: PrimaryState): Promise<void> {
  const atMs = performance.now();
  const look = await eye.look().catch(() => null);
  if (!look || look.isStandby) return;
  state.positions.add(look.position, atMs);
  state.system = look.system;
}

async function lookAt(replica: Replica, primary: PrimaryState, logger: Logger): Promise<void> {
  const before = replica.problem;
  await replica.look(primary);
  const { name, problem } = replica;
  if (problem === before) return;
  if (problem === null) logger.info({ replica: name }, "a replica is asked for lists");
  else logger.warn({ replica: name, problem }, "a replica is left out; the primary answers in its place");
}

interface Opened {
  replica: Replica;
  lane: Lane;
}

function createReader(
  opened: readonly Opened[],
  { primary, newest, signal }: Reading,
  metrics: ReplicaMetrics,
): Queryable {
  const ask = async <Row>({ replica, lane }: Opened, statement: Sql): Promise<ReplicaAnswer<Row> | null> => {
    lane.inFlight += 1;
    try {
      return await replica.ask<Row>(lane.database(signal), statement);
    } catch (error) {
      if (signal?.aborted || wouldFailAnywhere(error)) throw error;
      return null;
    } finally {
      lane.inFlight -= 1;
    }
  };

  return {
    async query<Row>(statement: Sql) {
      const chosen = chooseFrom(opened);
      if (!chosen) {
        metrics.count("primary", "no_replica");
        return await primary.query<Row>(statement);
      }
      const wanted = newest();
      // Whoever waits for it below hears of its failure.
      wanted.catch(() => undefined);
      const answer = await ask<Row>(chosen, statement);
      const horizon = answer?.horizon ?? null;
      if (answer && horizon !== null && (await wanted) < horizon) {
        metrics.count(chosen.replica.name, "current");
        return answer.rows;
      }
      metrics.count("primary", horizon === null ? "failed" : "changed");
      return await primary.query<Row>(statement);
    },
  };
}

/** Of those that may be asked, the one with the least to do. */
function chooseFrom(opened: readonly Opened[]): Opened | undefined {
  let chosen: Opened | undefined;
  for (const each of opened) {
    if (!each.replica.mayBeAsked) continue;
    if (!chosen || each.lane.inFlight < chosen.lane.inFlight) chosen = each;
  }
  return chosen;
}

/**
 * What is no fault of the replica's: too many wait for it, or the statement took too long. The primary would be asked the
 * dearest statements then, in the worst moment, beside the writes that it alone can do.
 */
function wouldFailAnywhere(error: unknown): boolean {
  return error instanceof AppError && (error.cause === undefined || isCancelled(error.cause));
}
