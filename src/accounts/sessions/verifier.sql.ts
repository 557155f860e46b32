/** The statements of each request with a session cookie. */
import type { Queryable } from "../../core/postgres/database.ts";
import type { OrganizationType } from "../../core/principal.ts";
import { sql } from "../../core/postgres/sql.ts";
import type { UserRole } from "../../organizations/api.ts";
import type { SessionMode } from "./session-mode.ts";

export interface SessionRow {
  id: string;
  expires_at: string;
  last_seen_at: string;
  authenticated_at: string;
  user_id: string;
  user_last_seen_at: string | null;
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

export interface ViewedOrganization {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
  readonly timeZone: string;
}

/**
 * Returns the session with this token or uuid, its user and the organisation that `mode` selects, or undefined. In test mode
 * the organisation is null until test organisations exist.
 */
export async function selectSession(
  database: Queryable,
  session: { token: string } | { id: string },
  mode: SessionMode,
): Promise<SessionRow | undefined> {
  const [row] = await database.query<SessionRow>(sql`
    select session.id, session.expires_at, session.last_seen_at, session.authenticated_at, account.id as user_id, account.last_seen_at as user_last_seen_at, account.name, account.email,
      account.role, account.two_factor_enabled, session.provider, organization.id as organization_id,
      organization.name as organization_name, organization.type as organization_type,
      organization.live_organization_id, organization.time_zone, organization.can_import_jobs, organization.suspended_at is not null as suspended,
      (select json_build_object('id', id, 'name', name, 'type', type, 'timeZone', time_zone) from organization viewed
        where viewed.id = session.viewed_organization_id and account.role = 'operator') as viewed
    from user_session session join user_account account on account.id = session.user_id
      ${organizationJoins(mode)}
    where session.epoch = account.epoch
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
