/** The connection to PostgreSQL: MikroORM, and SQL statements on MikroORM's pool for hot paths. */
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
  /** PostgreSQL settings for this pool's sessions, in addition to the default ones. */
  session?: Readonly<Record<string, string>>;
  /** Absent: no tracing. */
  tracing?: Tracing | undefined;
  /** Longer transactions are rolled back. Default: `TRANSACTION_LIMIT_MS`. */
  transactionLimitMs?: number;
}

/** Runs SQL on the pool or in a transaction. */
export interface Queryable {
  /** Returns the rows as `pg` does, with dates and times as PostgreSQL's text in UTC. */
  query<Row>(statement: Sql): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /** Runs `work` so that its failure, or `"rollback"`, undoes `work` alone and leaves the transaction usable. */
  nested<T>(work: () => Promise<T>, outcome?: Outcome<T>): Promise<T>;
  /** Calls `callback` once the transaction is committed, and never if it is not. */
  afterCommit(callback: () => void): void;
}

export type TransactionEnd = "commit" | "rollback";

/** How a transaction ends, or a function that decides it from the result. Default: `"commit"`. */
type Outcome<T> = TransactionEnd | ((result: T) => TransactionEnd);

export interface Database extends Queryable, AsyncDisposable {
  /** Runs `select 1`; rejects if PostgreSQL is unreachable. Not subject to the limit on waiting requests. */
  ping(): Promise<void>;
  /** Returns a Queryable whose running statement is cancelled in PostgreSQL when `signal` aborts. */
  withSignal(signal: AbortSignal): Queryable;
  /** Returns a new fork of the entity manager, for one unit of work. */
  em(): EntityManager;
  /**
   * Runs `work` in a transaction and returns its result. With the outcome `"rollback"` (a dry run), nothing is committed.
   * Throws ServiceUnavailableException and rolls back if the transaction exceeds its time limit.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, outcome?: Outcome<T>): Promise<T>;
  /**
   * Like `transaction`, but holds the advisory lock `lock`, which it takes in the round trip of `begin`. Returns null
   * immediately, without calling `work`, if another transaction holds the lock.
   */
  tryTransaction<T>(
    lock: bigint,
    work: (tx: Transaction) => Promise<T>,
    outcome?: Outcome<T>,
  ): Promise<T | null>;
  /** Returns an adapter to this pool for libraries that expect `pg.Pool`. */
  asPgPool(): PgPoolAdapter;
  /** The pool's open and idle connections, and the requests that wait for one. */
  pool(): { total: number; idle: number; waiting: number };
}

/** PostgreSQL cancels a longer statement, and its request gets a 503. */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Clients that poll by `updated_at` overlap their polls by 60 s. Changes are visible by then: a commit is sent within 30 s,
 * and PostgreSQL ends a transaction that is idle for another 30 s.
 */
const TRANSACTION_LIMIT_MS = 30_000;
/** If PostgreSQL has not cancelled a statement this long after its timeout, the connection counts as dead. */
const STALL_GRACE_MS = 2_000;
const CONNECT_TIMEOUT_MS = 3_000;
/** Maximum waiting requests per connection of the pool; further requests get a 503 immediately. */
const MAX_WAITING_PER_CONNECTION = 20;

/** Returns MikroORM's configuration. `statementTimeoutMs` 0 means no timeout. */
export function ormOptions(options: DatabaseOptions, statementTimeoutMs = STATEMENT_TIMEOUT_MS): Options {
  return defineConfig({
    clientUrl: options.url,
    entities: options.entities,
    extensions: [Migrator],
    // A mistyped database name must fail, not create a database.
    ensureDatabase: false,
    pool: { min: 0, max: options.poolSize },
    driverOptions: {
      application_name: "waymark",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // `toIsoTime` expects UTC and ISO dates. Generic plans: with the page limit as a parameter, PostgreSQL would plan each
      // list again, which takes longer than running it.
      options: `-c timezone=UTC -c DateStyle=ISO -c plan_cache_mode=force_generic_plan -c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=30000${sessionFlags(options)}`,
    },
    migrations: {
      path: fileURLToPath(new URL("../../migrations", import.meta.url)),
      snapshotName: "schema",
      snapshotOnMigrate: false,
      // One transaction per migration: a migration must not hold a table lock while the next one waits for another table. A
      // single transaction would also rule out `create index concurrently`.
      allOrNothing: false,
      fileName: (timestamp, name) => `${timestamp}-${name ?? "schema"}`,
    },
    // Migrations define partitioned tables and functions by hand, because entities cannot express them.
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

/** Opens a pool of at most `poolSize` connections. */
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

  const runTranslated = async <Row>(query: () => Promise<Row[]>): Promise<Row[]> => {
    rejectIfOverloaded();
    return await query().catch(translateDatabaseError);
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

/** MikroORM closes the pool only if it has used the pool itself. */
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

/** The returned function resolves to null if `start` returns false. */
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

/** Returns false, with the transaction begun, if another transaction holds the lock. */
async function beginWithLock(client: PoolClient, lock: bigint): Promise<boolean> {
  // `pg` returns an array for several statements in one message; its types do not say so.
  const text = `begin; select pg_try_advisory_xact_lock(${lock}) as locked`;
  const results = (await client.query(text)) as unknown as [unknown, QueryResult<{ locked: boolean }>];
  return results[1].rows[0]?.locked === true;
}

function resolveOutcome<T>(result: T, outcome: Outcome<T>): TransactionEnd {
  return typeof outcome === "function" ? outcome(result) : outcome;
}

/** After a failed statement PostgreSQL answers COMMIT with a rollback and no error, so the result must be checked. */
async function endTransaction(client: PoolClient, end: TransactionEnd, endsAtMs: number): Promise<void> {
  if (end === "commit") assertTimeLeft(endsAtMs);
  const { command } = await client.query(end);
  invariant(
    end !== "commit" || command === "COMMIT",
    "PostgreSQL rolled a transaction back on commit, because the error of a failed statement was ignored",
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
    const isCommit = resolveOutcome(result, outcome) === "commit";
    await client.query(isCommit ? "release savepoint nested" : "rollback to savepoint nested");
    return result;
  } catch (error) {
    // This fails if the connection is lost, and then the whole transaction is lost anyway.
    await client.query("rollback to savepoint nested").catch(() => undefined);
    throw error;
  }
}
