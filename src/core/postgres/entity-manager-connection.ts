/** Runs the statements of an entity manager on a connection that Waymark chooses, instead of one that MikroORM takes. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { QueryConfig, QueryResult } from "pg";

type Execute = (statement: QueryConfig) => Promise<QueryResult<object>>;

/**
 * Makes `em` run its statements with `execute`, and returns it. The entity manager then takes part in a transaction: it never
 * begins or ends one, and a nested `em.transactional` uses savepoints.
 */
export function bindEntityManager(em: EntityManager, execute: Execute): EntityManager {
  em.setTransactionContext(new TransactionContext(execute));
  return em;
}

/** What MikroORM uses of Kysely's `ControlledTransaction`. */
class TransactionContext {
  readonly #execute: Execute;

  constructor(execute: Execute) {
    this.#execute = execute;
  }

  async executeQuery({ sql, parameters }: { sql: string; parameters: unknown[] }) {
    const { rows, rowCount } = await this.#execute({ text: sql, values: parameters });
    return { rows, numAffectedRows: rowCount ?? undefined };
  }

  savepoint(name: string) {
    return this.#command(`savepoint ${name}`);
  }

  releaseSavepoint(name: string) {
    return this.#command(`release savepoint ${name}`);
  }

  rollbackToSavepoint(name: string) {
    return this.#command(`rollback to savepoint ${name}`);
  }

  /** MikroORM waits here until the connection is idle; `pg` runs the statements of a connection one after the other. */
  getExecutor() {
    return { provideConnection: (work: () => Promise<void>) => work() };
  }

  /** MikroORM marks the result with the savepoint's name, so each command returns a new one. */
  #command(text: string) {
    return {
      execute: async () => {
        await this.#execute({ text });
        return new TransactionContext(this.#execute);
      },
    };
  }
}
