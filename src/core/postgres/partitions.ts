/** Creates and drops the partitions of tables that are partitioned by the time in their UUIDv7 ids. */
import type { Queryable } from "./database.ts";
import { minUuidAt } from "../ids.ts";
import { raw, sql } from "./sql.ts";

export interface PartitionRange {
  /** For example `2026w47`. Names sort by time. */
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Tables that share the same partition ranges. A partition is named after its table and range, such as `webhook_attempt_2026w47`. */
export interface PartitionScheme {
  readonly parents: readonly string[];
  /** Returns the range that contains an instant. */
  readonly rangeAt: (ms: number) => PartitionRange;
  /** The advisory lock of processes that create partitions. */
  readonly lockKey: number;
}

/**
 * Creates the missing partitions between two instants and returns their names. If none is missing, it only reads the
 * catalogue. Safe to call from several processes concurrently.
 */
export async function createMissingPartitions(
  database: Queryable,
  scheme: PartitionScheme,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<string[]> {
  const ranges: PartitionRange[] = [];
  for (let ms = scheme.rangeAt(fromMs).startMs; ms <= toMs; ms = scheme.rangeAt(ms).endMs)
    ranges.push(scheme.rangeAt(ms));
  const existing = new Set((await listPartitions(database, scheme)).map(({ name }) => name));
  const missing = scheme.parents
    .flatMap((parent) => ranges.map((range) => ({ ...range, parent, name: `${parent}_${range.name}` })))
    .filter(({ name }) => !existing.has(name));
  if (missing.length === 0) return [];
  // One statement, so that all partitions are created or none. CREATE TABLE … PARTITION OF would block readers and writers of the
  // parent; creating a table and attaching it blocks only other changes of partitions.
  const steps = missing.map(
    ({ parent, name, startMs, endMs }) => `if to_regclass('${name}') is null then
      create table ${name} (like ${parent} including all);
      alter table ${parent} attach partition ${name}
        for values from ('${minUuidAt(new Date(startMs))}') to ('${minUuidAt(new Date(endMs))}');
    end if;`,
  );
  await database.query(
    raw(`do $$ begin perform pg_advisory_xact_lock(${scheme.lockKey}); ${steps.join("\n")} end $$`),
  );
  return missing.map(({ name }) => name);
}

/**
 * Drops the partitions before the range that contains `oldestMs`, and returns their names.
 *
 * A plain DROP or DETACH takes an exclusive lock on the parent: while it waits for one slow reader, all other statements wait
 * behind it. DETACH CONCURRENTLY waits without blocking others. If it exceeds the statement timeout, the partition stays
 * half detached, and the next call finishes the detach first.
 */
export async function dropPartitionsBefore(
  database: Queryable,
  scheme: PartitionScheme,
  oldestMs: number,
): Promise<string[]> {
  const oldest = scheme.rangeAt(oldestMs).name;
  const dropped: string[] = [];
  for (const { parent, name, isHalfDetached } of await listPartitions(database, scheme)) {
    if (!name.startsWith(`${parent}_`) || name >= `${parent}_${oldest}`) continue;
    const detachMode = isHalfDetached ? "finalize" : "concurrently";
    await database.query(raw(`alter table ${parent} detach partition ${name} ${detachMode}`));
    await database.query(raw(`drop table if exists ${name}`));
    dropped.push(name);
  }
  return dropped;
}

interface Partition {
  parent: string;
  name: string;
  isHalfDetached: boolean;
}

/** Lists half-detached partitions first, because PostgreSQL allows only one per parent. */
function listPartitions(database: Queryable, { parents }: PartitionScheme): Promise<Partition[]> {
  return database.query<Partition>(sql`
    select parent.relname::text as parent, child.relname::text as name, inhdetachpending as "isHalfDetached"
    from pg_inherits join pg_class parent on parent.oid = inhparent join pg_class child on child.oid = inhrelid
    where inhparent = any(${[...parents]}::text[]::regclass[])
    order by inhdetachpending desc, child.relname`);
}
