/** The recent activity of organisations, for lists. */
import type { Queryable } from "../core/postgres/database.ts";
import { raw, sql } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";

export interface OrganizationActivity {
  /** ISO 8601: last use of one of its API keys, live or test; null if none was used. */
  readonly lastRequestAt: string | null;
  /** Last use of the console by one of its members. */
  readonly lastSeenAt: string | null;
  /** Live requests of the last 7 days in UTC, including today, by outcome. */
  readonly requests: RequestNumbers;
  /** Live endpoints that are disabled or whose latest attempts failed. */
  readonly failingEndpoints: number;
}

export interface RequestNumbers {
  readonly succeeded: number;
  readonly refused: number;
  /** Those of `refused` with status 429. */
  readonly limited: number;
  readonly failed: number;
}

/** An endpoint that delivers nothing at the moment, unless its owner paused it. */
export const isFailingSql = raw(`endpoint.deleted_at is null
  and (endpoint.status = 'disabled' or endpoint.status = 'active' and endpoint.failing_since is not null)`);

type ActivityRow = Omit<OrganizationActivity, "requests"> &
  OrganizationActivity["requests"] & { readonly id: string };

/** The sums of rows of `request_usage`. */
export const requestSums =
  raw(`coalesce(sum(succeeded), 0)::float8 as succeeded, coalesce(sum(refused), 0)::float8 as refused,
  coalesce(sum(limited), 0)::float8 as limited, coalesce(sum(failed), 0)::float8 as failed`);

/** Returns the activity of each existing organisation of `organizationIds` (UUIDs), in one statement of index scans. */
export async function activitiesOf(
  database: Queryable,
  organizationIds: readonly string[],
): Promise<(OrganizationActivity & { readonly id: string })[]> {
  const rows = await database.query<ActivityRow>(sql`
    select partner.id, "lastRequestAt", "lastSeenAt", succeeded, refused, limited, failed, "failingEndpoints"
    from unnest(${[...organizationIds]}::uuid[]) partner (id)
    cross join lateral (
      select max(last_used_at) as "lastRequestAt" from api_key where organization_id = any(array(
        select partner.id union all select test.id from organization test where test.live_organization_id = partner.id))
    ) key
    cross join lateral (
      select max(last_seen_at) as "lastSeenAt" from user_account where organization_id = partner.id
    ) member
    cross join lateral (
      select ${requestSums} from request_usage where organization_id = partner.id and day > (now() at time zone 'UTC')::date - 7
    ) usage
    cross join lateral (
      select count(*)::int as "failingEndpoints" from webhook_endpoint endpoint
      where endpoint.organization_id = partner.id and ${isFailingSql}
    ) endpoint`);
  return rows.map(({ id, lastRequestAt, lastSeenAt, failingEndpoints, ...requests }) => ({
    id,
    lastRequestAt: lastRequestAt && toIsoTime(lastRequestAt),
    lastSeenAt: lastSeenAt && toIsoTime(lastSeenAt),
    failingEndpoints,
    requests,
  }));
}
