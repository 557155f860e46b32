/** The numbers of one organisation's jobs and requests, and how much of its limits it uses. */
import type { Queryable } from "../core/postgres/database.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { counterRowsSql, lateSql } from "../jobs/api.ts";
import { MAX_ACTIVE_KEYS } from "../api-keys/api.ts";
import { MAX_PENDING_INVITATIONS } from "../accounts/api.ts";
import { MAX_ENDPOINTS } from "../webhooks/api.ts";
import { type RequestNumbers, requestSums } from "./activity.sql.ts";

/** More late jobs are not counted. */
const MAX_LATE = 10_000;
const USAGE_DAYS = { week: 7, month: 30 } as const;

export interface OrganizationNumbers {
  readonly jobs: {
    readonly total: number;
    /** Jobs whose status is not terminal. */
    readonly open: number;
    /** At most 10,000. */
    readonly late: number;
    /** In the last 7 days in UTC, including today. */
    readonly createdInWeek: number;
  };
  /** Live requests by outcome, in the last 7 and 30 days in UTC, including today. */
  readonly requests: Readonly<Record<keyof typeof USAGE_DAYS, RequestNumbers>>;
  /** Without its test organisations, which have separate limits. */
  readonly limits: readonly {
    readonly name: "api_keys" | "webhook_endpoints" | "invitations";
    readonly used: number;
    readonly max: number;
  }[];
}

/**
 * Returns the numbers of a live organisation (a UUID) in one statement. Counters have the jobs, except late ones, which are found by the
 * statuses that can be late.
 */
export async function numbersOf(database: Queryable, id: string): Promise<OrganizationNumbers> {
  const [row] = await database.query<OrganizationNumbers>(sql`
    select json_build_object(
      'total', (select coalesce(sum(counted), 0) from (${counterRowsSql(id, "status")}) counts),
      'open', (select coalesce(sum(counted), 0) from (${counterRowsSql(id, "status")}) counts
        where value in (select code from job_status where not is_terminal)),
      'late', (select count(*) from (
        ${lateJobsSql("agent_id", id)} union all ${lateJobsSql("contractor_id", id)} limit ${MAX_LATE}) late),
      'createdInWeek', (select coalesce(sum(counted), 0) from (${counterRowsSql(id, "created_day")}) counts
        where value > ((now() at time zone 'UTC')::date - ${USAGE_DAYS.week}::int)::text)
    ) as jobs,
    (select json_object_agg(period, json_build_object('succeeded', succeeded, 'refused', refused,
        'limited', limited, 'failed', failed))
      from (values ('week', ${USAGE_DAYS.week}::int), ('month', ${USAGE_DAYS.month}::int)) periods (period, days)
      cross join lateral (
        select ${requestSums} from request_usage where organization_id = ${id}::uuid and day > (now() at time zone 'UTC')::date - days) usage
    ) as requests,
    json_build_array(
      json_build_object('name', 'api_keys', 'max', ${MAX_ACTIVE_KEYS}::int, 'used', (
        select count(*) from api_key where organization_id = ${id}::uuid and revoked_at is null
          and (expires_at is null or expires_at > now()))),
      json_build_object('name', 'webhook_endpoints', 'max', ${MAX_ENDPOINTS.live}::int, 'used', (
        select count(*) from webhook_endpoint where organization_id = ${id}::uuid and deleted_at is null)),
      json_build_object('name', 'invitations', 'max', ${MAX_PENDING_INVITATIONS}::int, 'used', (
        select count(*) from invitation where organization_id = ${id}::uuid))
    ) as limits`);
  return row as OrganizationNumbers;
}

/** For each status that can be late, an index has the jobs. The limit keeps PostgreSQL from reading those of all statuses. */
function lateJobsSql(column: "agent_id" | "contractor_id", id: string): Sql {
  return sql`select from job_status cross join lateral (
      select from job where job.${raw(column)} = ${id}::uuid and job.normalized_status = job_status.code and ${lateSql("UTC")}
      limit ${MAX_LATE}) late
    where category not in ('success', 'return', 'cancelled')`;
}
