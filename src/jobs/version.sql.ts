/** Job versions after a restore. A version is an ETag and an event's `sequence`, so no value may be used twice. */
import type { Queryable } from "../core/postgres/database.ts";
import { invariant } from "../core/errors.ts";
import { raw } from "../core/postgres/sql.ts";

/**
 * Makes every job's next version higher than any it had, including versions lost by the restore. The floor is the number of
 * seconds since 2026, because a job changes less than once a second on average. A job keeps its version until it changes.
 * Returns the first version that can be assigned.
 */
export async function raiseVersionFloor(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ floor: number }>(
    raw(`
    select greatest(
      extract(epoch from clock_timestamp() - timestamptz '2026-01-01T00:00:00Z')::int, next_version(0)) as floor`),
  );
  invariant(row && Number.isSafeInteger(row.floor), "the version floor is an integer");
  await tx.query(
    raw(`create or replace function next_version(version int) returns int language sql immutable parallel safe
      as $$ select greatest(version, ${row.floor}) + 1 $$`),
  );
  return row.floor + 1;
}
