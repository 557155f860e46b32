/** The job list of REST: one statement reads a page by offset or cursor, with the exact total. */
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
  /** Skip `offset` rows, or continue after `position`. */
  from: { offset: number } | { position: JobPosition };
}

export interface OffsetListPage {
  items: JobRow[];
  /** The exact number of matching jobs on all pages. */
  total: number;
  hasMore: boolean;
}

/** From this offset on, a page selects ids first and fetches rows only for them. */
const DEEP_OFFSET = 200;

const columns = jobColumns("job.");

const and = (conditions: readonly Sql[]): Sql => join(conditions, " and ");

/** Returns one page of the jobs that `principal` can see. */
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
  // A page past the end has no row that could hold the total.
  const total = first ? first.total : await countJobs(database, principal, filter);
  const hasMore =
    "offset" in from ? from.offset + items.length < total && items.length > 0 : rows.length > limit;
  return { items, total, hasMore };
}

/** The job with this Marking Number; null if it does not exist or is not visible. */
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

/** Reads rows in the order of an index that starts with the organisation, or with organisation and status. */
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
  return sql`with seek_point as materialized (${seekPoint.row})
    select ${columns}, ${total} as total from (
      select job.id from job where ${and([...conditions, seekPoint.condition])} ${orderBy(sort)}
      limit ${limit} offset ${from.offset}::bigint - (select skipped from seek_point)) page
    join job using (id) ${orderBy(sort)}`;
}

interface SeekPoint {
  /** One row with the number of rows before the seek point (`skipped`). */
  row: Sql;
  /** The rows from the seek point on. */
  condition: Sql;
}

function seekToStart(): SeekPoint {
  return { row: sql`select 0 as skipped`, condition: sql`true` };
}

/** Uses the counters per day of creation to find the day of row `offset` and the number of rows before that day. */
function seekToDay(principal: OrganizationPrincipal, descending: boolean, offset: number): SeekPoint {
  const direction = raw(descending ? "desc" : "asc");
  return {
    row: sql`
      select day, skipped from (
        select value::date as day, (sum(sum(counted)) over (order by value ${direction}) - sum(counted))::bigint as skipped
        from (${counterRowsSql(principal.organizationId, "created_day")}) counts group by value having sum(counted) <> 0
      ) days where skipped <= ${offset} order by skipped desc limit 1`,
    condition: descending
      ? sql`job.created_at < ((select day from seek_point) + 1)::timestamp at time zone 'UTC'`
      : sql`job.created_at >= (select day from seek_point)::timestamp at time zone 'UTC'`,
  };
}

/**
 * For a range of dates: reads the ids from the range's covering index first and then sorts them. Otherwise the planner
 * would scan the index of the order and discard all rows outside the range.
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

/** The exact number of matching jobs, from the counters if they hold it. */
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
