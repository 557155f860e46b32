/** Who the session cookie of a request speaks for, asked of PostgreSQL each time: what ends a session ends it at once. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { isOwnPage, type OriginHeaders } from "../platform/own-page.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { SESSION_COOKIE, signedValue } from "./auth.cookies.ts";
import {
  mustHaveSecondFactor,
  scopesOfRole,
  type SecondFactorRule,
  type SessionHolder,
} from "./session.holder.ts";
import type { UserRole } from "./user.entity.ts";

const HOUR_MS = 3_600_000;
/** However much it is used. */
export const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
/** When it is not used. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
const TOUCH_EVERY_MS = 60_000;

export interface SessionVerifier {
  /** Whether the request brings a session's cookie, whatever that is worth. */
  isPresented(headers: OriginHeaders): boolean;
  /** Throws ForbiddenException unless the request comes from a page of our own (platform/own-page.ts). */
  requireOwnPage(headers: OriginHeaders): void;
  /**
   * Throws UnauthorizedException where there is no session or it has ended, and ForbiddenException where the organisation
   * is suspended or the person has yet to turn on the second factor that they must have. Counts as use.
   */
  verify(headers: OriginHeaders, address: string): Promise<SessionHolder>;
  /** As `verify`, for what people do with their own accounts: also of who has yet to turn it on. */
  verifyForOwnAccount(headers: OriginHeaders, address: string): Promise<SessionHolder>;
  /** As `verify`, of a session that was verified before (its uuid), without counting as use: for connections that stay open. */
  recheck(sessionId: string): Promise<SessionHolder>;
}

export interface VerifierParts {
  database: Queryable;
  clock: Clock;
  /** Signs the cookies. */
  secret: string;
  /** Null: the address that a request names. */
  publicUrl: string | null;
  secondFactorRule: SecondFactorRule;
}

export function createSessionVerifier(parts: VerifierParts): SessionVerifier {
  const { database, clock, secret, secondFactorRule } = parts;
  const read = async (which: Sql): Promise<SessionRow> => {
    const [row] = await database.query<SessionRow>(sql`
      select session.id, session.expires_at, session.last_seen_at, session.authenticated_at, person.id as user_id, person.name, person.email,
        person.role, person.two_factor_enabled, organization.id as organization_id,
        organization.name as organization_name, organization.type as organization_type,
        organization.suspended_at is not null as suspended
      from user_session session join user_account person on person.id = session.user_id
        left join organization on organization.id = person.organization_id
      where ${which}`);
    if (!row || isOver(row, clock.now())) throw signedOut();
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

  const verifyForOwnAccount: SessionVerifier["verifyForOwnAccount"] = async ({ cookie }, address) => {
    const token = signedValue(cookie, SESSION_COOKIE, secret);
    if (!token) throw signedOut();
    const row = await read(sql`session.token = ${token}`);
    if (clock.now() - Date.parse(row.last_seen_at) >= TOUCH_EVERY_MS) await touch(row, address);
    return toHolder(row, secondFactorRule);
  };

  return {
    isPresented: ({ cookie }) => cookie?.includes(`${SESSION_COOKIE}=`) ?? false,
    requireOwnPage(headers) {
      if (!isOwnPage(headers, parts.publicUrl))
        throw new AppError("ForbiddenException", "This may only be asked for by a page of this site");
    },
    verify: async (headers, address) => requireSecondFactor(await verifyForOwnAccount(headers, address)),
    verifyForOwnAccount,
    recheck: async (sessionId) =>
      requireSecondFactor(toHolder(await read(sql`session.id = ${sessionId}::uuid`), secondFactorRule)),
  };
}

/** One sentence for every reason. */
function signedOut(): AppError {
  return new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}

function requireSecondFactor(holder: SessionHolder): SessionHolder {
  const { hasSecondFactor, mustHaveSecondFactor: must } = holder.user;
  if (must && !hasSecondFactor)
    throw new AppError(
      "ForbiddenException",
      "Your account must have a second step: turn it on in the console first",
    );
  return holder;
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

function isOver(row: Pick<SessionRow, "expires_at" | "last_seen_at">, nowMs: number): boolean {
  return Date.parse(row.expires_at) <= nowMs || Date.parse(row.last_seen_at) + SESSION_IDLE_MS <= nowMs;
}

function toHolder(row: SessionRow, secondFactorRule: SecondFactorRule): SessionHolder {
  const { organization_id, organization_name, organization_type } = row;
  const common = {
    keyId: null,
    rateLimits: null,
    scopes: scopesOfRole[row.role],
    actor: { type: "user", id: row.user_id },
    sessionId: row.id,
    sessionExpiresAt: new Date(row.expires_at),
    authenticatedAt: new Date(row.authenticated_at),
    user: {
      id: row.user_id,
      name: row.name,
      email: row.email,
      role: row.role,
      hasSecondFactor: row.two_factor_enabled,
      mustHaveSecondFactor: mustHaveSecondFactor(secondFactorRule, row.role),
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
