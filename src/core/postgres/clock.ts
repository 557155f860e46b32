/** PostgreSQL's clock, for work that must not depend on the clock of one process. */
import type { Queryable } from "./database.ts";
import { sql } from "./sql.ts";

/** Returns PostgreSQL's time in milliseconds since 1970. */
export async function databaseNowMs(database: Queryable): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  );
  return (row as { ms: number }).ms;
}
