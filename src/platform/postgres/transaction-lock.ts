/** A lock for limits that count rows before inserting one, so that two transactions cannot both pass the check. */
import type { Queryable } from "./database.ts";
import { sql } from "./sql.ts";

/**
 * Takes the advisory lock `name` and holds it until `tx` ends. Locking the organisation's row instead would block its job
 * writes, and operators have no organisation.
 */
export async function lockForTransaction(tx: Queryable, name: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}
