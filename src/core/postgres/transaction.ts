/** Transactions: SQL and an entity manager on one connection, with a time limit. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { PoolClient, QueryResult } from "pg";
import { bindEntityManager } from "./entity-manager-connection.ts";
import { isConnectionError, translateDatabaseError } from "./errors.ts";
import { AppError, invariant, unavailable } from "../errors.ts";
import type { RunSql, Sql } from "./sql.ts";

export type TransactionEnd = "commit" | "rollback";

/** How a transaction ends, or a function that decides it from the result. Default: `"commit"`. */
export type Outcome<T> = TransactionEnd | ((result: T) => TransactionEnd);

export interface TransactionHost {
  readonly run: RunSql;
  connect(): Promise<PoolClient>;
  em(): EntityManager;
  /** Restarts the time limit of the connection's statement; called before each one. */
  touch(client: PoolClient): void;
}

/**
 * Clients that poll by `updated_at` overlap their polls by 60 s. Changes are visible by then: a commit is sent within 30 s,
 * and PostgreSQL ends a transaction that is idle for another 30 s.
 */
const TRANSACTION_LIMIT_MS = 30_000;

async function beginWithLock(client: PoolClient, lock: bigint): Promise<boolean> {
  // `pg` returns an array for several statements in one message; its types do not say so.
  const text = `begin; select pg_try_advisory_xact_lock(${lock}) as locked`;
  const results = (await client.query(text)) as unknown as [unknown, QueryResult<{ locked: boolean }>];
  return results[1].rows[0]?.locked === true;
}

/** Option of a method that changes data: the transaction to use. By default the method begins and commits its own. */
export interface InTransaction {
  readonly tx?: Transaction | undefined;
}

/** Flushes its entity manager before each statement and before the commit. */
export class Transaction {
  readonly #client: PoolClient;
  readonly #host: TransactionHost;
  readonly #endsAtMs: number;
  readonly #afterCommit: (() => void)[] = [];
  readonly #afterEnd: (() => void)[] = [];
  #em: EntityManager | null = null;

  constructor(client: PoolClient, host: TransactionHost) {
    this.#client = client;
    this.#host = host;
    this.#endsAtMs = performance.now() + TRANSACTION_LIMIT_MS;
  }

  /**
   * Runs `work` in a transaction and returns its result. With `lock`, takes that advisory lock in the round trip of `begin`, and
   * returns null if another transaction holds it. Rolls back if `work` throws.
   */
  static async run<T>(
    host: TransactionHost,
    work: (tx: Transaction) => Promise<T>,
    outcome: Outcome<T> = "commit",
    lock?: bigint,
  ): Promise<T | null> {
    const client = await host.connect();
    let isBroken = false;
    const tx = new Transaction(client, host);
    try {
      if (lock === undefined) await client.query("begin");
      else if (!(await beginWithLock(client, lock))) {
        await client.query("rollback");
        return null;
      }
      const result = await work(tx);
      const end = resolveOutcome(result, outcome);
      await tx.#end(end);
      if (end === "commit") for (const callback of tx.#afterCommit) callback();
      return result;
    } catch (error) {
      // The entity manager throws a 503 in place of the error.
      isBroken = isConnectionError(error instanceof AppError ? error.cause : error);
      if (!isBroken) await client.query("rollback").catch(() => (isBroken = true));
      return translateDatabaseError(error);
    } finally {
      client.release(isBroken);
      for (const callback of tx.#afterEnd) callback();
    }
  }

  em(): EntityManager {
    return (this.#em ??= bindEntityManager(this.#host.em(), async ({ text, values = [] }) => {
      this.#beforeStatement();
      return await this.#client.query<object>(text, values);
    }));
  }

  async query<Row>(statement: Sql): Promise<Row[]> {
    if (this.#em) await this.#em.flush();
    this.#beforeStatement();
    return await this.#host.run<Row>(this.#client, statement.compile());
  }

  /** Runs `work` so that its failure, or `"rollback"`, undoes `work` alone and leaves the transaction usable. */
  async nested<T>(work: () => Promise<T>, outcome: Outcome<T> = "commit"): Promise<T> {
    await this.#em?.flush();
    await this.#client.query("savepoint nested");
    try {
      const result = await work();
      await this.#em?.flush();
      const isCommit = resolveOutcome(result, outcome) === "commit";
      if (!isCommit) this.#em?.clear();
      await this.#client.query(isCommit ? "release savepoint nested" : "rollback to savepoint nested");
      return result;
    } catch (error) {
      // The entities may contain changes that are rolled back here.
      this.#em?.clear();
      // This fails if the connection is lost, and then the whole transaction is lost anyway.
      await this.#client.query("rollback to savepoint nested").catch(() => undefined);
      throw error;
    }
  }

  /** Calls `callback` once the transaction is committed, and never if it is not. */
  afterCommit(callback: () => void): void {
    this.#afterCommit.push(callback);
  }

  /** Calls `callback` once the transaction is committed or rolled back. */
  afterEnd(callback: () => void): void {
    this.#afterEnd.push(callback);
  }

  /** After a failed statement PostgreSQL answers COMMIT with a rollback and no error, so the result must be checked. */
  async #end(end: TransactionEnd): Promise<void> {
    await this.#em?.flush();
    this.#host.touch(this.#client);
    if (end === "commit") this.#assertTimeLeft();
    const { command } = await this.#client.query(end);
    invariant(
      end !== "commit" || command === "COMMIT",
      "PostgreSQL rolled a transaction back on commit, because the error of a failed statement was ignored",
    );
  }

  #beforeStatement(): void {
    this.#assertTimeLeft();
    this.#host.touch(this.#client);
  }

  #assertTimeLeft(): void {
    if (performance.now() > this.#endsAtMs)
      throw unavailable("The transaction took too long and was rolled back", 1);
  }
}

function resolveOutcome<T>(result: T, outcome: Outcome<T>): TransactionEnd {
  return typeof outcome === "function" ? outcome(result) : outcome;
}
