/** Verifies session cookies. Each request reads the session from PostgreSQL, so a revoked session is rejected immediately. */
import { AppError } from "../../core/errors.ts";
import { isSameOrigin, type OriginHeaders } from "../../core/same-origin.ts";
import { SESSION_COOKIE, readSignedCookie } from "../auth/cookies.ts";
import type { AccountContext } from "../context.ts";
import { PASSKEY_SESSION } from "./entity.ts";
import {
  notSignedInError,
  requiresTwoFactor,
  scopesOf,
  type SessionMode,
  type SessionPrincipal,
  type TwoFactorPolicy,
} from "./session-principal.ts";
import { selectSession, updateLastSeen, type SessionRow } from "./verifier.sql.ts";

export class SessionVerifier {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** True if the request has a session cookie, valid or not. */
  hasSessionCookie({ cookie }: OriginHeaders): boolean {
    return cookie?.includes(`${SESSION_COOKIE}=`) ?? false;
  }

  /** Throws ForbiddenException unless the request comes from a page of our own origin (core/same-origin.ts). */
  requireSameOrigin(headers: OriginHeaders): void {
    if (!isSameOrigin(headers, this.#context.publicUrl))
      throw new AppError("ForbiddenException", "This request must come from a page of this site");
  }

  /**
   * Throws UnauthorizedException for a missing or expired session, and ForbiddenException if the organisation is suspended
   * or the user must first turn on two-factor authentication. Counts as use of the session. In test mode the principal is of
   * a test organisation; throws ForbiddenException if there is none.
   */
  async verify(
    headers: OriginHeaders,
    ipAddress: string,
    mode: SessionMode = "live",
  ): Promise<SessionPrincipal> {
    return requireTwoFactor(await this.verifyAllowingNoTwoFactor(headers, ipAddress, mode));
  }

  /** As `verify`, for the session with this uuid, without counting as use: for connections that stay open. */
  async revalidate(sessionId: string, mode: SessionMode = "live"): Promise<SessionPrincipal> {
    return requireTwoFactor(await this.#read({ id: sessionId }, mode));
  }

  /** As `verify`, but allows users who must still turn on two-factor authentication: for managing their own account. */
  async verifyAllowingNoTwoFactor(
    { cookie }: OriginHeaders,
    ipAddress: string,
    mode: SessionMode = "live",
  ): Promise<SessionPrincipal> {
    const token = readSignedCookie(cookie, SESSION_COOKIE, this.#context.authSecret);
    if (!token) throw notSignedInError();
    return await this.#read({ token }, mode, ipAddress);
  }

  /** `ipAddress`: counts as use of the session from there. */
  async #read(
    session: { token: string } | { id: string },
    mode: SessionMode,
    ipAddress?: string,
  ): Promise<SessionPrincipal> {
    const { database, clock, twoFactorPolicy } = this.#context;
    const row = await selectSession(database, session, { mode, nowMs: clock.now() });
    if (!row) throw notSignedInError();
    if (row.suspended)
      throw new AppError(
        "ForbiddenException",
        "Your organisation is suspended. Contact the operator of this service.",
      );
    if (mode.startsWith("test") && row.organization_id === null)
      throw new AppError(
        "ForbiddenException",
        row.role === "operator"
          ? "Operators have no test mode"
          : "Your organisation does not use test mode yet",
      );
    if (row.is_touch_due && ipAddress !== undefined)
      await updateLastSeen(database, { id: row.id, ipAddress, now: new Date(clock.now()).toISOString() });
    const principal = toPrincipal(row, twoFactorPolicy);
    return mode === "partner" ? asViewer(principal) : principal;
  }
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

/** The operator as a viewer of the organisation: reads what its members see, and changes nothing. */
function asViewer({ viewed, ...principal }: SessionPrincipal): SessionPrincipal {
  if (!viewed)
    throw new AppError("ForbiddenException", "Choose View as partner on the page of an organisation first");
  const { id: organizationId, name: organizationName, type: organizationType, timeZone } = viewed;
  return {
    ...principal,
    scopes: scopesOf("viewer", "live"),
    user: { ...principal.user, role: "viewer" },
    isReadOnly: true,
    viewed: null,
    organizationId,
    organizationName,
    organizationType,
    timeZone,
  };
}

function toPrincipal(row: SessionRow, twoFactorPolicy: TwoFactorPolicy): SessionPrincipal {
  const { organization_id, organization_name, organization_type } = row;
  const common = {
    keyId: null,
    rateLimits: null,
    scopes: scopesOf(row.role, row.live_organization_id === null ? "live" : "test"),
    actor: { type: "user", id: row.user_id },
    sessionId: row.id,
    sessionExpiresAt: new Date(row.expires_at),
    authenticatedAt: new Date(row.authenticated_at),
    isReadOnly: false,
    viewed: row.viewed,
    user: {
      id: row.user_id,
      name: row.name,
      email: row.email,
      role: row.role,
      hasTwoFactor: row.two_factor_enabled,
      // The identity provider asks for a second factor, or not. A passkey is two factors.
      requiresTwoFactor: row.provider === null && requiresTwoFactor(twoFactorPolicy, row.role),
      bySso: row.provider !== null && row.provider !== PASSKEY_SESSION,
    },
  } as const;
  return organization_id !== null && organization_type !== null && organization_name !== null
    ? {
        ...common,
        organizationId: organization_id,
        organizationType: organization_type,
        organizationName: organization_name,
        liveOrganizationId: row.live_organization_id ?? undefined,
        timeZone: row.time_zone ?? undefined,
        canImportJobs: row.can_import_jobs === true,
      }
    : { ...common, organizationId: null, organizationType: null, organizationName: null };
}
