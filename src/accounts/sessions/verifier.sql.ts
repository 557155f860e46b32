/** The statements of each request with a session cookie. */
import type { Queryable } from "../../core/postgres/database.ts";
import type { OrganizationType } from "../../core/principal.ts";
import { sql } from "../../core/postgres/sql.ts";
import { MINUTE_MS } from "../../core/time.ts";
import type { UserRole } from "../../organizations/api.ts";
import { SESSION_IDLE_MS } from "./entity.ts";
import type { SessionMode, ViewedOrganization } from "./session-principal.ts";

const TOUCH_INTERVAL_MS = MINUTE_MS;

export interface SessionRow {
  id: string;
  expires_at: string;
  /** True if the use of the session must be saved. */
  is_touch_due: boolean;
  authenticated_at: string;
  user_id: string;
  name: string;
  email: string;
  role: UserRole;
  two_factor_enabled: boolean;
  /** See UserSession. */
  provider: string | null;
  organization_id: string | null;
  organization_name: string | null;
  organization_type: OrganizationType | null;
  /** Set if the organisation is a test organisation. */
  live_organization_id: string | null;
  time_zone: string | null;
  can_import_jobs: boolean | null;
  suspended: boolean;
  /** The organisation that the operator views; null for other users. */
  viewed: ViewedOrganization | null;
}

/**
 * Returns the session with this token or uuid, its user and the organisation that `mode` selects; undefined if it has ended or was
 * not used for too long at `nowMs`. In test mode the organisation is null until test organisations exist.
 */
export async function selectSession(
  database: Queryable,
  session: { token: string } | { id: string },
  { mode, nowMs }: { mode: SessionMode; nowMs: number },
): Promise<SessionRow | undefined> {
  const [now, touched, used] = [0, TOUCH_INTERVAL_MS, SESSION_IDLE_MS].map((ageMs) =>
    new Date(nowMs - ageMs).toISOString(),
  );
  const [row] = await database.query<SessionRow>(sql`
    select session.id, session.expires_at, session.authenticated_at, account.id as user_id, account.name, account.email,
      -- The first request after signing in saves when the user was last seen.
      least(session.last_seen_at, coalesce(account.last_seen_at, '-infinity')) <= ${touched}::timestamptz as is_touch_due,
      account.role, account.two_factor_enabled, session.provider, organization.id as organization_id,
      organization.name as organization_name, organization.type as organization_type,
      organization.live_organization_id, organization.time_zone, organization.can_import_jobs, organization.suspended_at is not null as suspended,
      (select json_build_object('id', id, 'name', name, 'type', type, 'timeZone', time_zone) from organization viewed
        where viewed.id = session.viewed_organization_id and account.role = 'operator') as viewed
    from user_session session join user_account account on account.id = session.user_id
      ${organizationJoins(mode)}
    where session.epoch = account.epoch
      and session.expires_at > ${now}::timestamptz and session.last_seen_at > ${used}::timestamptz
      and ${"token" in session ? sql`session.token = ${session.token}` : sql`session.id = ${session.id}::uuid`}`);
  return row;
}

function organizationJoins(mode: SessionMode) {
  if (mode === "live" || mode === "partner")
    return sql`left join organization on organization.id = account.organization_id`;
  const [, side = null] = mode.split(":");
  return sql`left join organization live on live.id = account.organization_id
      left join organization on organization.live_organization_id = live.id
        and organization.type = coalesce(${side}::text, live.type)`;
}

/** Saves the use of a session at `now` (ISO 8601), unless a later one is already saved. */
export async function updateLastSeen(
  database: Queryable,
  { id, ipAddress, now }: { id: string; ipAddress: string; now: string },
): Promise<void> {
  await database.query(sql`
    with used as (
      update user_session set last_seen_at = ${now}::timestamptz, ip_address = ${ipAddress}
      where id = ${id} and last_seen_at <= ${now}::timestamptz returning user_id
    )
    update user_account set last_seen_at = ${now}::timestamptz
    from used where user_account.id = used.user_id`);
}
