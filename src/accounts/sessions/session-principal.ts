/** The principal of a signed-in user, as services receive it. */
import type { Scope } from "../../api-keys/api.ts";
import { AppError, badRequest, type Problem } from "../../core/errors.ts";
import type { OperatorPrincipal, OrganizationPrincipal, OrganizationType } from "../../core/principal.ts";
import type { OrganizationMode, UserRole } from "../../organizations/api.ts";

export interface SignedInUser {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly hasTwoFactor: boolean;
  /** If true and `hasTwoFactor` is false, the user can only manage their own account. False after a passkey or single sign-on. */
  readonly requiresTwoFactor: boolean;
  /** True if single sign-on opened the session, so that the user confirms their identity with it. */
  readonly bySso: boolean;
}

export interface ViewedOrganization {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
  readonly timeZone: string;
}

interface SessionGrant {
  readonly keyId: null;
  readonly scopes: readonly Scope[];
  /** The service's default limits apply. */
  readonly rateLimits: null;
  /** A uuid. */
  readonly sessionId: string;
  readonly sessionExpiresAt: Date;
  /** When the user last entered the password, and a code with two-factor. */
  readonly authenticatedAt: Date;
  /** True for an operator in the mode `partner`. The API rejects its mutations. */
  readonly isReadOnly: boolean;
  /** The organisation that the operator can view in the mode `partner`. */
  readonly viewed: ViewedOrganization | null;
  readonly user: SignedInUser;
}

/** A user of an organisation. `actor` is the user. */
export interface MemberSessionPrincipal extends OrganizationPrincipal, SessionGrant {
  readonly organizationName: string;
}
export interface OperatorSessionPrincipal extends OperatorPrincipal, SessionGrant {
  readonly organizationName: null;
}
export type SessionPrincipal = MemberSessionPrincipal | OperatorSessionPrincipal;

/**
 * The data that a request of the console asks for: live, one side of the organisation's test data, or that of a partner. `test` is
 * the side of the organisation's own type; `partner` the organisation that the operator of the session views.
 */
const sessionModes = ["live", "test", "test:agent", "test:contractor", "partner"] as const;
export type SessionMode = (typeof sessionModes)[number];

/** The header of requests and the member of `connection_init`. Absent: live. */
export const SESSION_MODE_HEADER = "x-waymark-mode";

/** Returns the mode that `value` names, by default live. Throws BadRequestException about `field` for another value. */
export function parseSessionMode(
  value: unknown,
  { location, field }: Pick<Problem, "location" | "field"> = {
    location: "header",
    field: SESSION_MODE_HEADER,
  },
): SessionMode {
  if (value === undefined || value === null) return "live";
  const mode = sessionModes.find((each) => each === value);
  if (mode) return mode;
  const message = `must be one of ${sessionModes.join(", ")}`;
  throw badRequest([{ location, field, code: "invalid_value", message }]);
}

/** REQUIRE_TWO_FACTOR: the users who must turn on two-factor authentication. */
export type TwoFactorPolicy = "none" | "operators" | "all";

export function requiresTwoFactor(policy: TwoFactorPolicy, role: UserRole): boolean {
  return policy === "all" || (policy === "operators" && role === "operator");
}

const allScopes = ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"] as const;

/** The scopes of each role. Operations that no scope describes name roles. */
const scopesByRole: Readonly<Record<UserRole, readonly Scope[]>> = {
  owner: allScopes,
  developer: ["jobs:read", "webhooks:manage", "keys:manage"],
  dispatcher: ["jobs:read", "jobs:write"],
  viewer: ["jobs:read"],
  operator: allScopes,
};

/** Returns the scopes of a user. In test mode, developers can also change jobs, because no job is real. */
export function scopesOf(role: UserRole, mode: OrganizationMode): readonly Scope[] {
  return role === "developer" && mode === "test" ? allScopes : scopesByRole[role];
}

/** True if a user with the role can give access to others: by keys, or as an owner or operator. */
export function canGiveAccess(role: UserRole): boolean {
  return scopesByRole[role].includes("keys:manage");
}

/** The 401 for a missing, expired or revoked session: the same for every reason. */
export function notSignedInError(): AppError {
  return new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}
