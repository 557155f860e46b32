/** The versions of jobs after a restore: each is the ETag and the `sequence` of an event, and must not be given twice. */
import type { Queryable } from "../platform/postgres/database.ts";
import { invariant } from "../platform/errors.ts";
import { raw } from "../platform/postgres/sql.ts";

/**
 * From now on a job's next version is above every one that it ever had, whether or not this database remembers it: above the
 * seconds since 2026, and no job changes in each of them. Nothing is rewritten: a job keeps its version until it changes.
 * Answers with the number that versions go on from.
 */
export async function raiseVersionFloor(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ floor: number }>(
    raw(`
    select greatest(
      extract(epoch from clock_timestamp() - timestamptz '2026-01-01T00:00:00Z')::int, next_version(0)) as floor`),
  );
  invariant(row && Number.isSafeInteger(row.floor), "versions go on from a whole number");
  await tx.query(
    raw(`create or replace function next_version(version int) returns int language sql immutable parallel safe
      as $$ select greatest(version, ${row.floor}) + 1 $$`),
  );
  return row.floor + 1;
}
