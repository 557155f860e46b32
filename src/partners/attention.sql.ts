/** Organisations that an operator should look at, with the reasons. */
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";
import { isFailingSql } from "./activity.sql.ts";

export const attentionReasons = [
  "endpoint_disabled",
  "endpoint_failing",
  "key_expiring",
  "requests_refused",
  "requests_stopped",
] as const;

export interface Attention {
  /** The UUID of a live organisation. */
  readonly organizationId: string;
  readonly reason: (typeof attentionReasons)[number];
  /** ISO 8601: since when, when the key expires, or the last request. Null for rejected requests. */
  readonly at: string | null;
  /** The UUID of the endpoint or key; null for requests. */
  readonly subjectId: string | null;
  /** The URL of the endpoint or the name of the key. */
  readonly subject: string | null;
  /** Requests of the last 7 days in UTC and those with 4xx, of `requests_refused`. */
  readonly requests: number | null;
  readonly refused: number | null;
}

const MAX_LISTED = 200;
/** Of a week of requests. Fewer say little. */
const MIN_REQUESTS = 20;
const EXPIRES_WITHIN = "14 days";
const SILENT_AFTER = "7 days";
/** An organisation that has been silent for longer has left: it would stay in the list for ever. */
const GONE_AFTER = "90 days";

/**
 * Returns what needs attention in live organisations that are not suspended, in the order of `attentionReasons` and then by time;
 * at most 200. In one statement, which reads the endpoints, the keys, and the usage of the last 7 days.
 */
export async function organizationsNeedingAttention(database: Queryable): Promise<Attention[]> {
  const rows = await database.query<Attention>(sql`
    with found as (
      select organization_id, case status when 'disabled' then 1 else 2 end as reason,
        case status when 'disabled' then status_since else failing_since end as at, id as subject_id, url as subject,
        null::float8 as requests, null::float8 as refused
      from webhook_endpoint endpoint where ${isFailingSql}
      union all
      select organization_id, 3, expires_at, id, name, null, null from api_key
      where revoked_at is null and expires_at > now() and expires_at < now() + ${EXPIRES_WITHIN}::interval
      union all
      select organization_id, 4, null, null, null, sum(succeeded + refused + failed), sum(refused)
      from request_usage where day > (now() at time zone 'UTC')::date - 7 group by organization_id
      having sum(succeeded + refused + failed) >= ${MIN_REQUESTS}::int and sum(refused) * 2 > sum(succeeded + refused + failed)
      union all
      select organization_id, 5, max(last_used_at), null, null, null, null from api_key group by organization_id
      having max(last_used_at) < now() - ${SILENT_AFTER}::interval and max(last_used_at) > now() - ${GONE_AFTER}::interval
    )
    select organization_id as "organizationId", (${[...attentionReasons]}::text[])[reason] as reason, at,
      subject_id as "subjectId", subject, requests, refused
    from found join organization on organization.id = found.organization_id
    where live_organization_id is null and suspended_at is null
    order by found.reason, at, organization.name, subject_id limit ${MAX_LISTED}`);
  return rows.map((row) => ({ ...row, at: row.at && toIsoTime(row.at) }));
}
