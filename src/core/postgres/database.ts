/** The connection to PostgreSQL: MikroORM, and SQL statements on MikroORM's pool for hot paths. */
import { MikroORM, PostgreSqlConnection, type EntityManager } from "@mikro-orm/postgresql";
import pg, { type Pool, type PoolClient } from "pg";
import { runAbortable } from "./query-cancellation.ts";
import { bindEntityManager } from "./entity-manager-connection.ts";
import { translateDatabaseError } from "./errors.ts";
import { unavailable } from "../errors.ts";
import { ormOptions, STATEMENT_TIMEOUT_MS, type DatabaseOptions } from "./orm-options.ts";
import { createSqlRunner, sql, type Sql } from "./sql.ts";
import { Transaction, type Outcome, type TransactionHost } from "./transaction.ts";

/** Runs SQL on the pool or in a transaction. */
export interface Queryable {
  /** Returns the rows as `pg` does, with dates and times as PostgreSQL's text in UTC. */
  query<Row>(statement: Sql): Promise<Row[]>;
  /** Calls `callback` once the transaction is committed, and never if it is not. Absent without a transaction. */
  afterCommit?(callback: () => void): void;
}

/** Reads with SQL or with MikroORM. */
export interface Reader extends Queryable {
  /** Returns a new fork of the entity manager, for one unit of work. In a transaction, returns the transaction's own. */
  em(): EntityManager;
}

/** A connection counts as dead if PostgreSQL has not cancelled its statement 2 s after the statement's timeout. */
const STALL_LIMIT_MS = STATEMENT_TIMEOUT_MS + 2_000;
const STALL_CHECK_INTERVAL_MS = 1_000;
/** Maximum waiting requests per connection of the pool; further requests get a 503 immediately. */
const MAX_WAITING_PER_CONNECTION = 20;

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const orm = await MikroORM.init(ormOptions(options));
  const pool = await orm.em.getConnection().getNativeClient();
  return new Database(orm, { pool, fork: () => orm.em.fork(), close: () => orm.close(true) }, options);
}

/** A pool of connections, and how entity managers use it. */
interface Connections {
  readonly pool: Pool;
  fork(): EntityManager;
  close(): Promise<void>;
}

export class Database implements Reader, AsyncDisposable {
  readonly #orm: MikroORM;
  readonly #connections: Connections;
  readonly #options: DatabaseOptions;
  readonly #pool: Pool;
  readonly #run = createSqlRunner();
  readonly #transactionHost: TransactionHost;
  /** The time of the last statement of each connection in use. */
  readonly #lastActiveAtMs = new Map<PoolClient, number>();
  readonly #stallCheck: NodeJS.Timeout;

  constructor(orm: MikroORM, connections: Connections, options: DatabaseOptions) {
    this.#orm = orm;
    this.#connections = connections;
    this.#options = options;
    this.#pool = connections.pool;
    this.#transactionHost = {
      run: this.#run,
      connect: () => this.#connect(),
      em: () => orm.em.fork(),
      touch: (client) => this.#touch(client),
    };
    this.#pool.on("acquire", (client) => this.#touch(client));
    this.#pool.on("release", (_error, client) => this.#lastActiveAtMs.delete(client));
    this.#stallCheck = setInterval(() => this.#closeStalled(), STALL_CHECK_INTERVAL_MS).unref();
  }

  /**
   * Opens another pool with other settings, on the same database or on a copy at `url`. It shares the entity metadata, whose
   * discovery takes longer than the rest of opening it. Outside of transactions, its entity managers only read.
   */
  async openPool(
    options: Pick<DatabaseOptions, "poolSize" | "session"> & { url?: string },
  ): Promise<Database> {
    const settings = { ...this.#options, ...options };
    const { driverOptions } = ormOptions(settings);
    const connection = new PostgreSqlConnection(this.#orm.config, {
      clientUrl: settings.url,
      driverOptions: { ...driverOptions, max: options.poolSize },
    });
    const pool = await connection.getNativeClient();
    const fork = () => bindEntityManager(this.#orm.em.fork(), (statement) => pool.query<object>(statement));
    return new Database(this.#orm, { pool, fork, close: () => connection.close(true) }, settings);
  }

  em(): EntityManager {
    this.#rejectIfOverloaded();
    return this.#connections.fork();
  }

  async query<Row>(statement: Sql): Promise<Row[]> {
    this.#rejectIfOverloaded();
    return await this.#run<Row>(this.#pool, statement.compile()).catch(translateDatabaseError);
  }

  /** Runs `select 1`; rejects if PostgreSQL is unreachable. Not subject to the limit on waiting requests. */
  async ping(): Promise<void> {
    await this.#run(this.#pool, sql`select 1`.compile()).catch(translateDatabaseError);
  }

  /** Returns a Reader whose running statement is cancelled in PostgreSQL when `signal` aborts. Its entity manager only reads. */
  withSignal(signal: AbortSignal): Reader {
    return {
      em: () =>
        bindEntityManager(this.#orm.em.fork(), ({ text, values = [] }) => {
          this.#rejectIfOverloaded();
          return runAbortable(this.#pool, signal, (client) => client.query<object>(text, values));
        }),
      query: async <Row>(statement: Sql) => {
        this.#rejectIfOverloaded();
        const compiled = statement.compile();
        const run = (client: PoolClient): Promise<Row[]> => this.#run<Row>(client, compiled);
        return await runAbortable(this.#pool, signal, run).catch(translateDatabaseError);
      },
    };
  }

  /**
   * Runs `work` in a transaction and returns its result. With the outcome `"rollback"` (a dry run), nothing is committed.
   * Throws ServiceUnavailableException and rolls back if the transaction exceeds its time limit.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, outcome?: Outcome<T>): Promise<T> {
    return Transaction.run(this.#transactionHost, work, outcome) as Promise<T>;
  }

  /** Runs `work` in a transaction of a new entity manager, and flushes and commits it. `tx` runs SQL in the same transaction. */
  transactional<T>(work: (em: EntityManager, tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction((tx) => work(tx.em(), tx));
  }

  /** Runs `work` in `tx`, which its caller commits, or without one in a new transaction as `transactional` does. */
  transactionalIn<T>(
    tx: Transaction | undefined,
    work: (em: EntityManager, tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return tx ? work(tx.em(), tx) : this.transactional(work);
  }

  /**
   * Like `transaction`, but holds the advisory lock `lock`, which it takes in the round trip of `begin`. Returns null
   * immediately, without calling `work`, if another transaction holds the lock.
   */
  tryTransaction<T>(
    lock: bigint,
    work: (tx: Transaction) => Promise<T>,
    outcome?: Outcome<T>,
  ): Promise<T | null> {
    return Transaction.run(this.#transactionHost, work, outcome, lock);
  }

  /** Returns this pool for libraries that run their own SQL through `pg.Pool`. Rows have `pg`'s default types: times as Dates. */
  asPgPool() {
    return {
      connect: async () => {
        const client = await this.#connect();
        return {
          query: async (text: string, values: readonly unknown[]) => {
            this.#touch(client);
            return await client
              .query<object>({ text, values: [...values], types: pg.types })
              .catch(translateDatabaseError);
          },
          release: () => client.release(),
        };
      },
    };
  }

  /** Returns the number of open and idle connections, and of requests that wait for one. */
  pool(): { total: number; idle: number; waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { total, idle, waiting };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.close();
    // MikroORM closes the pool only if it has used the pool itself.
    if (!this.#pool.ended) await this.#pool.end();
    clearInterval(this.#stallCheck);
  }

  async #connect(): Promise<PoolClient> {
    this.#rejectIfOverloaded();
    return await this.#pool.connect().catch(translateDatabaseError);
  }

  #rejectIfOverloaded(): void {
    if (this.#pool.waitingCount > this.#options.poolSize * MAX_WAITING_PER_CONNECTION)
      throw unavailable("The server is overloaded. Try again shortly.", 1);
  }

  /** Restarts the time limit of a connection's statement; called before each statement. */
  #touch(client: PoolClient): void {
    this.#lastActiveAtMs.set(client, performance.now());
  }

  /**
   * Closes each connection whose PostgreSQL neither answers nor closes it, for example behind a network that drops packets;
   * the statement fails. One timer checks all connections: `pg`'s own `query_timeout` keeps rows in memory until the next
   * full garbage collection (half of a list's memory, a fifth of its CPU).
   */
  #closeStalled(): void {
    const oldestAllowedMs = performance.now() - STALL_LIMIT_MS;
    for (const [client, atMs] of this.#lastActiveAtMs) if (atMs < oldestAllowedMs) void client.end();
  }
}
