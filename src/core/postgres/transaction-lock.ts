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

/** The same without waiting: returns false if another transaction holds the lock. */
export async function tryLockForTransaction(tx: Queryable, name: string): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`,
  );
  return row?.locked === true;
}
