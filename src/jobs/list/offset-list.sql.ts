/** Reading jobs: one statement a page, its exact total included. */
import type { OrganizationPrincipal } from "../../platform/principal.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { counterRowsSql } from "../counters/counters.ts";
import {
  rowsAfter,
  parametersToSql,
  hasDateRange,
  newestFirst,
  orderBy,
  type JobListParameters,
  type JobPosition,
  type JobSort,
} from "./list-parameters.ts";
import { jobColumns, type JobRow } from "../job.row.ts";
import { visibleTo } from "../job.visibility.ts";

export interface OffsetListQuery {
  filter?: JobListParameters;
  sort?: JobSort;
  limit: number;
  /** Rows to pass over, or the row to go on after. */
  from: { offset: number } | { position: JobPosition };
}

export interface OffsetListPage {
  items: JobRow[];
  /** All jobs that match, on whatever page: exact. */
  total: number;
  hasMore: boolean;
}

/** From here on a page finds its ids before it fetches a row. */
const DEEP_OFFSET = 200;

const columns = jobColumns("job.");

const and = (conditions: readonly Sql[]): Sql => join(conditions, " and ");

/** The page of the jobs that `viewer` sees. */
export async function listJobsAtOffset(
  database: Queryable,
  principal: OrganizationPrincipal,
  query: OffsetListQuery,
): Promise<OffsetListPage> {
  const { filter = {}, limit, from } = query;
  const statement = hasDateRange(filter) ? rangePageSql(principal, query) : orderedPageSql(principal, query);
  const rows = await database.query<JobRow & { total: number }>(statement);
  const items = rows.slice(0, limit);
  const first = rows[0];
  // Only a page past the end has no row to carry the total.
  const total = first ? first.total : await countJobs(database, principal, filter);
  const hasMore =
    "offset" in from ? from.offset + items.length < total && items.length > 0 : rows.length > limit;
  return { items, total, hasMore };
}

/** The visible job with this Marking Number, or null. */
export async function findJob(
  database: Queryable,
  principal: OrganizationPrincipal,
  markingNumber: string,
): Promise<JobRow | null> {
  const [row] = await database.query<JobRow>(sql`
    select ${columns} from job where job.marking_number = ${markingNumber} and ${visibleTo(principal)}`);
  return row ?? null;
}

async function countJobs(
  database: Queryable,
  principal: OrganizationPrincipal,
  filter: JobListParameters,
): Promise<number> {
  const [row] = await database.query<{ total: number }>(sql`select ${totalSql(principal, filter)} as total`);
  return row?.total ?? 0;
}

/** Rows read in the order of an index that leads with the organisation (and the status). */
function orderedPageSql(
  principal: OrganizationPrincipal,
  { filter = {}, sort = newestFirst, limit, from }: OffsetListQuery,
): Sql {
  const conditions = [visibleTo(principal), ...parametersToSql(filter)];
  const total = totalSql(principal, filter);
  if ("position" in from) {
    return sql`select ${columns}, ${total} as total from job
      where ${and([...conditions, rowsAfter(from.position, sort)])} ${orderBy(sort)} limit ${limit + 1}`;
  }
  if (from.offset < DEEP_OFFSET) {
    return sql`select ${columns}, ${total} as total from job
      where ${and(conditions)} ${orderBy(sort)} limit ${limit} offset ${from.offset}`;
  }
  const canSeekByDay = sort.field === "created_at" && isEmpty(filter);
  const seekPoint = canSeekByDay ? seekToDay(principal, sort.descending, from.offset) : seekToStart();
  return sql`with start as materialized (${seekPoint.row})
    select ${columns}, ${total} as total from (
      select job.id from job where ${and([...conditions, seekPoint.condition])} ${orderBy(sort)}
      limit ${limit} offset ${from.offset}::bigint - (select passed from start)) page
    join job using (id) ${orderBy(sort)}`;
}

/** Where to begin to pass over rows: one row (passed), and the condition that begins there. */
interface SeekPoint {
  row: Sql;
  condition: Sql;
}

function seekToStart(): SeekPoint {
  return { row: sql`select 0 as passed`, condition: sql`true` };
}

/**
 * All of an organisation's jobs in the order of their creation are counted by day: the counts tell on which day row
 * `offset` stands, and how many rows come before that day.
 */
function seekToDay(principal: OrganizationPrincipal, descending: boolean, offset: number): SeekPoint {
  const direction = raw(descending ? "desc" : "asc");
  return {
    row: sql`
      select day, passed from (
        select value::date as day, (sum(sum(counted)) over (order by value ${direction}) - sum(counted))::bigint as passed
        from (${counterRowsSql(principal.organizationId, "created_day")}) counts group by value having sum(counted) <> 0
      ) days where passed <= ${offset} order by passed desc limit 1`,
    condition: descending
      ? sql`job.created_at < ((select day from start) + 1)::timestamp at time zone 'UTC'`
      : sql`job.created_at >= (select day from start)::timestamp at time zone 'UTC'`,
  };
}

/**
 * Rows of a range of dates: their ids are gathered from the range's own covering index first, and ordered then. Left to
 * itself the planner would walk the order's index and throw away what is outside the range.
 */
function rangePageSql(
  principal: OrganizationPrincipal,
  { filter = {}, sort = newestFirst, limit, from }: OffsetListQuery,
): Sql {
  const matching = and([visibleTo(principal), ...parametersToSql(filter)]);
  const pageClause =
    "position" in from
      ? sql`where ${rowsAfter(from.position, sort)} ${orderBy(sort)} limit ${limit + 1}`
      : sql`${orderBy(sort)} limit ${limit} offset ${from.offset}`;
  return sql`with matching as materialized (
      select job.id, job.${raw(sort.field)} from job where ${matching}
    ), page as (select job.id from matching job ${pageClause})
    select ${columns}, (select count(*)::int from matching) as total
    from page join job using (id) ${orderBy(sort)}`;
}

/** The exact number of matching jobs: from the counters where they know it, else counted. */
function totalSql(principal: OrganizationPrincipal, filter: JobListParameters): Sql {
  const { normalizedStatus, ...others } = filter;
  if (!isEmpty(others)) {
    return sql`(select count(*)::int from job where ${and([visibleTo(principal), ...parametersToSql(filter)])})`;
  }
  const status = normalizedStatus === undefined ? sql`` : sql`where value = ${normalizedStatus}`;
  return sql`(select coalesce(sum(counted), 0)::int
    from (${counterRowsSql(principal.organizationId, "status")}) counts ${status})`;
}

function isEmpty(filter: JobListParameters): boolean {
  return Object.values(filter).every((value) => value === undefined);
}
