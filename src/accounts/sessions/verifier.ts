/** Verifies session cookies. Each request reads the session from PostgreSQL, so a revoked session is rejected immediately. */
import type { Clock } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { isSameOrigin, type OriginHeaders } from "../../platform/same-origin.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { SESSION_COOKIE, readSignedCookie } from "../auth/cookies.ts";
import { requiresTwoFactor, scopesByRole, type TwoFactorPolicy, type SessionPrincipal } from "./principal.ts";
import type { UserRole } from "../../organizations/api.ts";

const HOUR_MS = 3_600_000;
/** The absolute lifetime; use doesn't extend it. */
export const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
/** A session that isn't used for this long expires. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
const TOUCH_INTERVAL_MS = 60_000;

export interface SessionVerifier {
  /** True if the request has a session cookie, valid or not. */
  hasSessionCookie(headers: OriginHeaders): boolean;
  /** Throws ForbiddenException unless the request comes from a page of our own origin (platform/same-origin.ts). */
  requireSameOrigin(headers: OriginHeaders): void;
  /**
   * Throws UnauthorizedException for a missing or expired session, and ForbiddenException if the organisation is suspended
   * or the user must first turn on two-factor authentication. Counts as use of the session.
   */
  verify(headers: OriginHeaders, address: string): Promise<SessionPrincipal>;
  /** As `verify`, but allows users who must still turn on two-factor authentication: for managing their own account. */
  verifyAllowingNoTwoFactor(headers: OriginHeaders, address: string): Promise<SessionPrincipal>;
  /** As `verify`, for the session with this uuid, without counting as use: for connections that stay open. */
  revalidate(sessionId: string): Promise<SessionPrincipal>;
}

export interface SessionVerifierDeps {
  database: Queryable;
  clock: Clock;
  /** Signs the cookies. */
  secret: string;
  /** Null: the host that each request names. */
  publicUrl: string | null;
  twoFactorPolicy: TwoFactorPolicy;
}

export function createSessionVerifier(deps: SessionVerifierDeps): SessionVerifier {
  const { database, clock, secret, twoFactorPolicy } = deps;
  const read = async (condition: Sql): Promise<SessionRow> => {
    const [row] = await database.query<SessionRow>(sql`
      select session.id, session.expires_at, session.last_seen_at, session.authenticated_at, account.id as user_id, account.name, account.email,
        account.role, account.two_factor_enabled, organization.id as organization_id,
        organization.name as organization_name, organization.type as organization_type,
        organization.suspended_at is not null as suspended
      from user_session session join user_account account on account.id = session.user_id
        left join organization on organization.id = account.organization_id
      where ${condition}`);
    if (!row || isExpired(row, clock.now())) throw sessionExpired();
    if (row.suspended) throw new AppError("ForbiddenException", "The organisation is suspended");
    return row;
  };

  const touch = (row: SessionRow, address: string): Promise<unknown> => {
    const now = new Date(clock.now()).toISOString();
    return database.query(sql`
      with used as (
        update user_session set last_seen_at = ${now}::timestamptz, address = ${address}
        where id = ${row.id} and last_seen_at < ${now}::timestamptz returning user_id
      )
      update user_account set last_seen_at = ${now}::timestamptz
      from used where user_account.id = used.user_id`);
  };

  const verifyAllowingNoTwoFactor: SessionVerifier["verifyAllowingNoTwoFactor"] = async (
    { cookie },
    address,
  ) => {
    const token = readSignedCookie(cookie, SESSION_COOKIE, secret);
    if (!token) throw sessionExpired();
    const row = await read(sql`session.token = ${token}`);
    if (clock.now() - Date.parse(row.last_seen_at) >= TOUCH_INTERVAL_MS) await touch(row, address);
    return toPrincipal(row, twoFactorPolicy);
  };

  return {
    hasSessionCookie: ({ cookie }) => cookie?.includes(`${SESSION_COOKIE}=`) ?? false,
    requireSameOrigin(headers) {
      if (!isSameOrigin(headers, deps.publicUrl))
        throw new AppError("ForbiddenException", "This request must come from a page of this site");
    },
    verify: async (headers, address) => requireTwoFactor(await verifyAllowingNoTwoFactor(headers, address)),
    verifyAllowingNoTwoFactor,
    revalidate: async (sessionId) =>
      requireTwoFactor(toPrincipal(await read(sql`session.id = ${sessionId}::uuid`), twoFactorPolicy)),
  };
}

/** The same error for every reason. */
function sessionExpired(): AppError {
  return new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}

function requireTwoFactor(principal: SessionPrincipal): SessionPrincipal {
  const { user } = principal;
  if (user.requiresTwoFactor && !user.hasTwoFactor)
    throw new AppError(
      "ForbiddenException",
      "Your account must use two-factor authentication: turn it on in the console first",
    );
  return principal;
}

interface SessionRow {
  id: string;
  expires_at: string;
  last_seen_at: string;
  authenticated_at: string;
  user_id: string;
  name: string;
  email: string;
  role: UserRole;
  two_factor_enabled: boolean;
  organization_id: string | null;
  organization_name: string | null;
  organization_type: OrganizationType | null;
  suspended: boolean;
}

function isExpired(row: Pick<SessionRow, "expires_at" | "last_seen_at">, nowMs: number): boolean {
  return Date.parse(row.expires_at) <= nowMs || Date.parse(row.last_seen_at) + SESSION_IDLE_MS <= nowMs;
}

function toPrincipal(row: SessionRow, twoFactorPolicy: TwoFactorPolicy): SessionPrincipal {
  const { organization_id, organization_name, organization_type } = row;
  const common = {
    keyId: null,
    rateLimits: null,
    scopes: scopesByRole[row.role],
    actor: { type: "user", id: row.user_id },
    sessionId: row.id,
    sessionExpiresAt: new Date(row.expires_at),
    authenticatedAt: new Date(row.authenticated_at),
    user: {
      id: row.user_id,
      name: row.name,
      email: row.email,
      role: row.role,
      hasTwoFactor: row.two_factor_enabled,
      requiresTwoFactor: requiresTwoFactor(twoFactorPolicy, row.role),
    },
  } as const;
  return organization_id !== null && organization_type !== null && organization_name !== null
    ? {
        ...common,
        organizationId: organization_id,
        organizationType: organization_type,
        organizationName: organization_name,
      }
    : { ...common, organizationId: null, organizationType: null, organizationName: null };
}
