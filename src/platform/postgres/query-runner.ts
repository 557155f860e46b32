/** Running one statement, prepared where it comes often. */
import type { Pool, PoolClient } from "pg";
import type { Sql } from "./sql.ts";
import { PreparedStatementNames } from "./prepared-statements.ts";

export type QueryClient = Pool | PoolClient;

export type QueryRunner = <Row>(client: QueryClient, statement: Pick<Sql, "compile">) => Promise<Row[]>;

/** Runs statements, those that come often prepared, by names that are the same on every connection. */
export function createQueryRunner(): QueryRunner {
  const statements = new PreparedStatementNames();
  return async <Row>(client: QueryClient, statement: Pick<Sql, "compile">) => {
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
