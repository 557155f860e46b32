/** Tables in partitions by time: made ahead of it, and dropped whole when it is over. */
import type { Queryable } from "./database.ts";
import { minUuidAt } from "../ids.ts";
import { raw, sql, type Sql } from "./sql.ts";

/** A stretch of time that a partition is for. */
export interface PartitionRange {
  /** Such as `2026w47`; the order of the names is that of the periods. */
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Tables that are parted alike, by the time in the ids that they are parted by. */
export interface PartitionScheme {
  readonly parents: readonly string[];
  /** The period that an instant lies in. */
  readonly rangeAt: (ms: number) => PartitionRange;
  /** What the name of a period looks like at the end of a partition's name, in brackets. */
  readonly suffix: RegExp;
  /** Taken in turn by processes that make partitions at the same time. */
  readonly lockKey: number;
}

/**
 * Makes the partitions that are missing from one instant to the other, and answers with their names. One read of the
 * catalogue when none is missing. Any number of processes may call it at once.
 */
export async function createMissingPartitions(
  database: Queryable,
  scheme: PartitionScheme,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<string[]> {
  const existing = new Set((await listPartitions(database, scheme)).map(({ name }) => name));
  const missing = scheme.parents.flatMap((parent) =>
    rangesBetween(scheme, fromMs, toMs)
      .map((range) => ({ parent, range, name: `${parent}_${range.name}` }))
      .filter(({ name }) => !existing.has(name)),
  );
  if (missing.length > 0) await database.query(createPartitionsSql(missing, scheme.lockKey));
  return missing.map(({ name }) => name);
}

/**
 * Drops the partitions of the periods before the one that `oldestMs` lies in, and answers with their names.
 *
 * A plain DROP (or DETACH) locks the parent against everything, and whatever comes while it waits for one slow reader
 * waits behind it. DETACH CONCURRENTLY waits for such readers without holding anything that others want; afterwards
 * nobody knows the table any more, and its DROP has nobody to wait for. Where the wait takes longer than a statement may,
 * it fails with the partition left half detached: the next call begins with finishing that.
 */
export async function dropPartitionsBefore(
  database: Queryable,
  scheme: PartitionScheme,
  oldestMs: number,
): Promise<string[]> {
  const oldest = scheme.rangeAt(oldestMs).name;
  const dropped: string[] = [];
  for (const { parent, name, isHalfDetached } of await listPartitions(database, scheme)) {
    const rangeName = scheme.suffix.exec(name)?.[1];
    if (rangeName === undefined || rangeName >= oldest) continue;
    const how = isHalfDetached ? "finalize" : "concurrently";
    await database.query(raw(`alter table ${parent} detach partition ${name} ${how}`));
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

/** Half detached ones first: PostgreSQL allows one for each parent. */
function listPartitions(database: Queryable, { parents }: PartitionScheme): Promise<Partition[]> {
  return database.query<Partition>(sql`
    select parent.relname::text as parent, child.relname::text as name, inhdetachpending as "isHalfDetached"
    from pg_inherits join pg_class parent on parent.oid = inhparent join pg_class child on child.oid = inhrelid
    where inhparent = any(${[...parents]}::text[]::regclass[])
    order by inhdetachpending desc, child.relname`);
}

interface MissingPartition {
  parent: string;
  range: PartitionRange;
  name: string;
}

/**
 * One statement, so all of it or nothing. CREATE TABLE … PARTITION OF would lock the parent against readers and writers;
 * a table made by itself and then attached locks out only others who make or drop partitions.
 */
function createPartitionsSql(missing: readonly MissingPartition[], lock: number): Sql {
  const steps = missing.map(({ parent, range, name }) => {
    const from = minUuidAt(new Date(range.startMs));
    const to = minUuidAt(new Date(range.endMs));
    return `if to_regclass('${name}') is null then
      create table ${name} (like ${parent} including all);
      alter table ${parent} attach partition ${name} for values from ('${from}') to ('${to}');
    end if;`;
  });
  return raw(`do $$ begin
    perform pg_advisory_xact_lock(${lock});
    ${steps.join("\n    ")}
  end $$`);
}

function rangesBetween({ rangeAt }: PartitionScheme, fromMs: number, toMs: number): PartitionRange[] {
  const ranges: PartitionRange[] = [];
  for (let ms = rangeAt(fromMs).startMs; ms <= toMs; ms = rangeAt(ms).endMs) ranges.push(rangeAt(ms));
  return ranges;
}
