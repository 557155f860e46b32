/** A lock for limits that count rows before they insert one: two transactions must not both see the last free place. */
import type { Queryable } from "./database.ts";
import { sql } from "./sql.ts";

/**
 * Waits until no other transaction holds the lock of this name, and holds it until `tx` ends. A lock on the row of the
 * organisation would do as well, but operators have none, and every job that is written would wait for it.
 */
export async function lockForTransaction(tx: Queryable, name: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}
