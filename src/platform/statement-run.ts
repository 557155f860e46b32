/** Running one statement, prepared where it comes often. */
import type { Pool, PoolClient } from "pg";
import type { Sql } from "./sql.ts";
import { StatementNames } from "./statement-names.ts";

export type RunnableClient = Pool | PoolClient;

export type Run = <Row>(client: RunnableClient, statement: Pick<Sql, "compile">) => Promise<Row[]>;

/** Runs statements, those that come often prepared, by names that are the same on every connection. */
export function createRun(): Run {
  const statements = new StatementNames();
  return async <Row>(client: RunnableClient, statement: Pick<Sql, "compile">) => {
    const { text, values } = statement.compile();
    const name = statements.nameOf(text);
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    // Not by its promise: what a connection's query promises, its rows, outlives every young collection (docs/performance.md).
    client.query<object>(name ? { name, text, values } : { text, values }, (error, result) => {
      if (error) reject(error);
      else resolve(result.rows as Row[]);
    });
    return await promise;
  };
}
