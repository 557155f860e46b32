/** Runs statements, and prepares those that are used often. */
import type { Pool, PoolClient } from "pg";
import type { Sql } from "./sql.ts";
import { PreparedStatementNames } from "./prepared-statements.ts";

export type QueryClient = Pool | PoolClient;

export type QueryRunner = <Row>(client: QueryClient, statement: Pick<Sql, "compile">) => Promise<Row[]>;

/** Returns a runner whose prepared statements have the same names on every connection. */
export function createQueryRunner(): QueryRunner {
  const statements = new PreparedStatementNames();
  return async <Row>(client: QueryClient, statement: Pick<Sql, "compile">) => {
    const { text, values } = statement.compile();
    const name = statements.nameOf(text);
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    // A callback, not `pg`'s promise: that keeps the rows alive past the young garbage collections (docs/performance.md).
    client.query<object>(name ? { name, text, values } : { text, values }, (error, result) => {
      if (error) reject(error);
      else resolve(result.rows as Row[]);
    });
    return await promise;
  };
}
