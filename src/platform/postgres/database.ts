/** PostgreSQL through MikroORM: entities for what is written rarely, prepared statements on its pool for what is hot. */
import { fileURLToPath } from "node:url";
import { Migrator } from "@mikro-orm/migrations";
import { defineConfig, MikroORM, type EntityManager, type Options } from "@mikro-orm/postgresql";
import type { Pool, PoolClient, QueryResult } from "pg";
import { runAbortable } from "./query-cancellation.ts";
import { isConnectionError, translateDatabaseError } from "./errors.ts";
import { invariant, unavailable } from "../errors.ts";
import { createPgPoolAdapter, type PgPoolAdapter } from "./pool-adapter.ts";
import { closeStalledConnections } from "./stalled-connections.ts";
import { sql, type Sql } from "./sql.ts";
import { createQueryRunner } from "./query-runner.ts";
import { traceQueries, type TracedQueries } from "../tracing/traced-queries.ts";
import type { Tracing } from "../tracing/tracing.ts";

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  entities: NonNullable<Options["entities"]>;
  /** Settings of PostgreSQL for these connections alone, beside those that all have. */
  session?: Readonly<Record<string, string>>;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
  /** A transaction that lasts longer is rolled back; `TRANSACTION_LIMIT_MS` if absent. */
  transactionLimitMs?: number;
}

/** Runs SQL: the pool, or one transaction. */
export interface Queryable {
  /** The statement's rows as `pg` gives them: dates and times as PostgreSQL's text, in UTC. */
  query<Row>(statement: Sql): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /** Runs `work` so that its failure, or `"rollback"`, undoes `work` alone and leaves the transaction usable. */
  nested<T>(work: () => Promise<T>, outcome?: Outcome<T>): Promise<T>;
  /** Calls `callback` once the transaction is committed, and never if it is not. */
  afterCommit(callback: () => void): void;
}

export type TransactionEnd = "commit" | "rollback";

/** How a transaction ends, or what decides that from its result; `"commit"` by default. */
type Outcome<T> = TransactionEnd | ((result: T) => TransactionEnd);

export interface Database extends Queryable, AsyncDisposable {
  /** Whether PostgreSQL answers: it is asked in its turn, however many wait for a connection. */
  ping(): Promise<void>;
  /** The same, for somebody who may go away: then what runs is cancelled. */
  withSignal(signal: AbortSignal): Queryable;
  /** A fork of the entity manager, for one unit of work. */
  em(): EntityManager;
  /**
   * Runs `work` in one transaction; `"rollback"` undoes it once its result is known (a dry run), which may decide itself.
   * Throws ServiceUnavailableException and rolls back once it lasts longer than the limit.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, outcome?: Outcome<T>): Promise<T>;
  /**
   * As `transaction`, holding the advisory lock `lock`, which is taken in the round trip of `begin`. Returns null without
   * waiting and without calling `work` if another transaction holds the lock.
   */
  tryTransaction<T>(
    lock: bigint,
    work: (tx: Transaction) => Promise<T>,
    outcome?: Outcome<T>,
  ): Promise<T | null>;
  /** For a library that brings SQL of its own. */
  asPgPool(): PgPoolAdapter;
  pool(): { total: number; idle: number; waiting: number };
}

/** A statement may run for 10 s, then its request is answered with 503: no request may hold a connection for ever. */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Clients that poll by `updated_at` overlap their polls by 60 s. A change is visible by then: a commit is sent within these
 * 30 s or not at all, and PostgreSQL ends a transaction that is idle for another 30 s.
 */
const TRANSACTION_LIMIT_MS = 30_000;
/** PostgreSQL itself ends such a statement; one that it does not even refuse in time shows that it is out of reach. */
const STALL_GRACE_MS = 2_000;
const CONNECT_TIMEOUT_MS = 3_000;
/** Requests that may wait for a connection; beyond that the server is overloaded and says so at once. */
const MAX_WAITING_PER_CONNECTION = 20;

export function ormOptions(options: DatabaseOptions, statementTimeoutMs = STATEMENT_TIMEOUT_MS): Options {
  return defineConfig({
    clientUrl: options.url,
    entities: options.entities,
    extensions: [Migrator],
    // A mistyped name must be refused, not made.
    ensureDatabase: false,
    pool: { min: 0, max: options.poolSize },
    driverOptions: {
      application_name: "waymark",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // The text of times and dates is read as it comes; and a plan made once serves every caller of a statement: with a
      // page's limit as a value PostgreSQL would plan each list anew, for longer than it takes to run.
      options: `-c timezone=UTC -c DateStyle=ISO -c plan_cache_mode=force_generic_plan -c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=30000${sessionFlags(options)}`,
    },
    migrations: {
      path: fileURLToPath(new URL("../../migrations", import.meta.url)),
      snapshotName: "schema",
      snapshotOnMigrate: false,
      // One after the other, each in a transaction of its own: none holds the lock of a table that it is done with while it waits
      // for another's, which changes take in their own order; and an index can be made concurrently.
      allOrNothing: false,
      fileName: (timestamp, name) => `${timestamp}-${name ?? "schema"}`,
    },
    // Partitioned tables and functions are written by hand in migrations: entities cannot express them.
    schemaGenerator: {
      skipTables: [/^webhook_(delivery|attempt)/, /^request_(log|usage)/],
      ignoreRoutines: true,
    },
    logger: () => undefined,
  });
}

function sessionFlags({ session = {} }: DatabaseOptions): string {
  return Object.entries(session)
    .map(([name, value]) => ` -c ${name}=${value}`)
    .join("");
}

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const orm = await MikroORM.init(ormOptions(options));
  const pool: Pool = await orm.em.getConnection().getNativeClient();
  const stallWatchdog = closeStalledConnections(pool, STATEMENT_TIMEOUT_MS + STALL_GRACE_MS);
  const tracedQueries = traceQueries(createQueryRunner(), options.tracing);
  const { run } = tracedQueries;
  const maxWaiting = options.poolSize * MAX_WAITING_PER_CONNECTION;

  const rejectIfOverloaded = (): void => {
    if (pool.waitingCount > maxWaiting) throw unavailable("The server is overloaded. Try again shortly.", 1);
  };

  const runTranslated = async <Row>(running: () => Promise<Row[]>): Promise<Row[]> => {
    rejectIfOverloaded();
    return await running().catch(translateDatabaseError);
  };

  const inTransaction = createTransactionRunner({
    queries: tracedQueries,
    async connect() {
      rejectIfOverloaded();
      return await pool.connect().catch(translateDatabaseError);
    },
    touch: (client) => stallWatchdog.touch(client),
    limitMs: options.transactionLimitMs ?? TRANSACTION_LIMIT_MS,
  });

  return {
    em: () => orm.em.fork(),
    query: (statement) => runTranslated(() => run(pool, statement)),
    ping: async () => void (await run(pool, sql`select 1`).catch(translateDatabaseError)),
    withSignal: (signal) => ({
      query: (statement) =>
        runTranslated(() => runAbortable(pool, signal, (client) => run(client, statement))),
    }),
    transaction: (work, outcome) => inTransaction(begin, work, outcome) as Promise<never>,
    tryTransaction: (lock, work, outcome) =>
      inTransaction((client) => beginWithLock(client, lock), work, outcome),
    asPgPool: () =>
      createPgPoolAdapter(pool, { rejectIfOverloaded, touch: (client) => stallWatchdog.touch(client) }),
    pool: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async [Symbol.asyncDispose]() {
      await closeConnections(orm, pool);
      stallWatchdog[Symbol.dispose]();
    },
  };
}

/** MikroORM ends the pool only if it has used it itself. */
async function closeConnections(orm: MikroORM, pool: Pool): Promise<void> {
  await orm.close(true);
  if (!pool.ended) await pool.end();
}

function assertTimeLeft(endsAtMs: number): void {
  if (performance.now() > endsAtMs) throw unavailable("The transaction took too long and was rolled back", 1);
}

interface TransactionDeps {
  queries: TracedQueries;
  connect: () => Promise<PoolClient>;
  touch: (client: PoolClient) => void;
  limitMs: number;
}

type RunInTransaction = <T>(
  start: (client: PoolClient) => Promise<boolean>,
  work: (tx: Transaction) => Promise<T>,
  outcome?: Outcome<T>,
) => Promise<T | null>;

/** Null: `start` refused. */
function createTransactionRunner({
  queries: { run, deferUntilCommit },
  connect,
  touch,
  limitMs,
}: TransactionDeps): RunInTransaction {
  return async (start, work, outcome = "commit") => {
    const client = await connect();
    using deferredSpans = deferUntilCommit?.(client);
    const callbacks: (() => void)[] = [];
    let isBroken = false;
    const endsAtMs = performance.now() + limitMs;
    try {
      if (!(await start(client))) {
        await client.query("rollback");
        return null;
      }
      const result = await work({
        query(statement) {
          assertTimeLeft(endsAtMs);
          touch(client);
          return run(client, statement);
        },
        nested: (inner, innerOutcome) => nested(client, inner, innerOutcome),
        afterCommit: (callback) => callbacks.push(callback),
      });
      touch(client);
      const end = resolveOutcome(result, outcome);
      await endTransaction(client, end, endsAtMs);
      if (end === "commit") {
        deferredSpans?.commit();
        for (const callback of callbacks) callback();
      }
      return result;
    } catch (error) {
      isBroken = isConnectionError(error);
      if (!isBroken) await client.query("rollback").catch(() => (isBroken = true));
      return translateDatabaseError(error);
    } finally {
      client.release(isBroken);
    }
  };
}

async function begin(client: PoolClient): Promise<true> {
  await client.query("begin");
  return true;
}

/** False, in a transaction that has begun: another transaction holds the lock. */
async function beginWithLock(client: PoolClient, lock: bigint): Promise<boolean> {
  // Several statements in one message answer with a list of results, which the types of `pg` do not say.
  const text = `begin; select pg_try_advisory_xact_lock(${lock}) as locked`;
  const results = (await client.query(text)) as unknown as [unknown, QueryResult<{ locked: boolean }>];
  return results[1].rows[0]?.locked === true;
}

function resolveOutcome<T>(result: T, outcome: Outcome<T>): TransactionEnd {
  return typeof outcome === "function" ? outcome(result) : outcome;
}

/** PostgreSQL takes a COMMIT after a statement that failed as a ROLLBACK, and says so in passing. */
async function endTransaction(client: PoolClient, end: TransactionEnd, endsAtMs: number): Promise<void> {
  if (end === "commit") assertTimeLeft(endsAtMs);
  const { command } = await client.query(end);
  invariant(
    end !== "commit" || command === "COMMIT",
    "a transaction was not committed: a statement of it had failed, and its failure was let pass",
  );
}

async function nested<T>(
  client: PoolClient,
  work: () => Promise<T>,
  outcome: Outcome<T> = "commit",
): Promise<T> {
  await client.query("savepoint nested");
  try {
    const result = await work();
    const isKept = resolveOutcome(result, outcome) === "commit";
    await client.query(isKept ? "release savepoint nested" : "rollback to savepoint nested");
    return result;
  } catch (error) {
    // Where the connection is lost, so is all of it. A statement that took too long has lost nothing but itself.
    await client.query("rollback to savepoint nested").catch(() => undefined);
    throw error;
  }
}
