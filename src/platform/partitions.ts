/** Tables in partitions by time: made ahead of it, and dropped whole when it is over. */
import type { Queryable } from "./database.ts";
import { firstUuidOf } from "./ids.ts";
import { raw, sql, type Sql } from "./sql.ts";

/** A stretch of time that a partition is for. */
export interface Period {
  /** Such as `2026w47`; the order of the names is that of the periods. */
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Tables that are parted alike, by the time in the ids that they are parted by. */
export interface PartitionScheme {
  readonly parents: readonly string[];
  /** The period that an instant lies in. */
  readonly periodOf: (ms: number) => Period;
  /** What the name of a period looks like at the end of a partition's name, in brackets. */
  readonly suffix: RegExp;
  /** Taken in turn by processes that make partitions at the same time. */
  readonly lock: number;
}

/**
 * Makes the partitions that are missing from one instant to the other, and answers with their names. One read of the
 * catalogue when none is missing. Any number of processes may call it at once.
 */
export async function ensurePeriods(
  database: Queryable,
  scheme: PartitionScheme,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<string[]> {
  const existing = new Set((await partitionsOf(database, scheme)).map(({ name }) => name));
  const missing = scheme.parents.flatMap((parent) =>
    periodsBetween(scheme, fromMs, toMs)
      .map((period) => ({ parent, period, name: `${parent}_${period.name}` }))
      .filter(({ name }) => !existing.has(name)),
  );
  if (missing.length > 0) await database.query(createStatement(missing, scheme.lock));
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
export async function dropPeriodsBefore(
  database: Queryable,
  scheme: PartitionScheme,
  oldestMs: number,
): Promise<string[]> {
  const oldest = scheme.periodOf(oldestMs).name;
  const dropped: string[] = [];
  for (const { parent, name, isHalfDetached } of await partitionsOf(database, scheme)) {
    const period = scheme.suffix.exec(name)?.[1];
    if (period === undefined || period >= oldest) continue;
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
function partitionsOf(database: Queryable, { parents }: PartitionScheme): Promise<Partition[]> {
  return database.query<Partition>(sql`
    select parent.relname::text as parent, child.relname::text as name, inhdetachpending as "isHalfDetached"
    from pg_inherits join pg_class parent on parent.oid = inhparent join pg_class child on child.oid = inhrelid
    where inhparent = any(${[...parents]}::text[]::regclass[])
    order by inhdetachpending desc, child.relname`);
}

interface Missing {
  parent: string;
  period: Period;
  name: string;
}

/**
 * One statement, so all of it or nothing. CREATE TABLE … PARTITION OF would lock the parent against readers and writers;
 * a table made by itself and then attached locks out only others who make or drop partitions.
 */
function createStatement(missing: readonly Missing[], lock: number): Sql {
  const steps = missing.map(({ parent, period, name }) => {
    const from = firstUuidOf(new Date(period.startMs));
    const to = firstUuidOf(new Date(period.endMs));
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

function periodsBetween({ periodOf }: PartitionScheme, fromMs: number, toMs: number): Period[] {
  const periods: Period[] = [];
  for (let ms = periodOf(fromMs).startMs; ms <= toMs; ms = periodOf(ms).endMs) periods.push(periodOf(ms));
  return periods;
}
