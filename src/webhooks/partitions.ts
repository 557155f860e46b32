/** The weeks that the log of deliveries and their attempts lies in: made ahead of time, and dropped whole when they are over. */
import type { Queryable } from "../platform/database.ts";
import { firstUuidOf } from "../platform/ids.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The first of January 1970 was a Thursday; weeks begin on Mondays, at midnight UTC. */
const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEKS_AHEAD = 4;
/** How much longer a week stays than it must: what waited as long as it may still finds its place when it ends. */
const SLACK_DAYS = 7;

/** Each is parted by the time in its UUIDv7: a delivery's own id, and an attempt's delivery. */
const parents = ["webhook_delivery_finished", "webhook_attempt"] as const;

/** Taken in turn by processes that make weeks at the same time ("wamp"). */
const PARTITION_LOCK = 0x77616d70;

interface Week {
  /** Such as `2026w47`, as ISO 8601 counts; the order of the names is that of the weeks. */
  name: string;
  startMs: number;
}

/**
 * Makes the weeks that are missing, from the oldest that is kept to four ahead, and answers with the names of their
 * tables. One read of the catalogue when none is missing. Any number of processes may call it at once.
 */
export async function ensurePartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const existing = new Set((await partitionsOf(database)).map(({ name }) => name));
  const weeks = weeksBetween(oldestKeptMs(nowMs, retentionDays), nowMs + WEEKS_AHEAD * WEEK_MS);
  const missing = parents.flatMap((parent) =>
    weeks
      .map((week) => ({ parent, week, name: `${parent}_${week.name}` }))
      .filter(({ name }) => !existing.has(name)),
  );
  if (missing.length > 0) await database.query(createStatement(missing));
  return missing.map(({ name }) => name);
}

/**
 * Drops the weeks that are over by `retentionDays` and a week, and answers with the names of their tables.
 *
 * A plain DROP (or DETACH) locks the parent against everything, and whatever comes while it waits for one slow reader
 * waits behind it. DETACH CONCURRENTLY waits for such readers without holding anything that others want; afterwards
 * nobody knows the table any more, and its DROP has nobody to wait for. Where the wait takes longer than a statement may,
 * it fails with the week left half detached: the next call begins with finishing that.
 */
export async function dropExpiredPartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const oldest = weekOf(oldestKeptMs(nowMs, retentionDays)).name;
  const dropped: string[] = [];
  for (const { parent, name, isHalfDetached } of await partitionsOf(database)) {
    const week = /_(\d{4}w\d{2})$/.exec(name)?.[1];
    if (week === undefined || week >= oldest) continue;
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
function partitionsOf(database: Queryable): Promise<Partition[]> {
  return database.query<Partition>(sql`
    select parent.relname::text as parent, child.relname::text as name, inhdetachpending as "isHalfDetached"
    from pg_inherits join pg_class parent on parent.oid = inhparent join pg_class child on child.oid = inhrelid
    where inhparent = any(${[...parents]}::text[]::regclass[])
    order by inhdetachpending desc, child.relname`);
}

/**
 * One statement, so all of it or nothing. CREATE TABLE … PARTITION OF would lock the parent against readers and writers;
 * a table made by itself and then attached locks out only others who make or drop weeks.
 */
function createStatement(missing: readonly { parent: string; week: Week; name: string }[]): Sql {
  const steps = missing.map(({ parent, week, name }) => {
    const from = firstUuidOf(new Date(week.startMs));
    const to = firstUuidOf(new Date(week.startMs + WEEK_MS));
    return `if to_regclass('${name}') is null then
      create table ${name} (like ${parent} including all);
      alter table ${parent} attach partition ${name} for values from ('${from}') to ('${to}');
    end if;`;
  });
  return raw(`do $$ begin
    perform pg_advisory_xact_lock(${PARTITION_LOCK});
    ${steps.join("\n    ")}
  end $$`);
}

function oldestKeptMs(nowMs: number, retentionDays: number): number {
  return nowMs - (retentionDays + SLACK_DAYS) * DAY_MS;
}

function weeksBetween(fromMs: number, toMs: number): Week[] {
  const weeks: Week[] = [];
  for (let ms = weekOf(fromMs).startMs; ms <= toMs; ms += WEEK_MS) weeks.push(weekOf(ms));
  return weeks;
}

function weekOf(ms: number): Week {
  const startMs = Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
  // A week belongs to the year that its Thursday lies in.
  const thursdayMs = startMs + 3 * DAY_MS;
  const year = new Date(thursdayMs).getUTCFullYear();
  const number = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / WEEK_MS) + 1;
  return { name: `${year}w${String(number).padStart(2, "0")}`, startMs };
}
