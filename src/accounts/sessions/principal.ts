/** A signed-in person as a caller: what every service is told of them, as it is told of a key. */
import type { Scope } from "../../api-keys/api.ts";
import type { OperatorPrincipal, OrganizationPrincipal } from "../../platform/principal.ts";
import type { UserRole } from "../../organizations/api.ts";

export interface SignedInUser {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly hasTwoFactor: boolean;
  /** Until they have one nothing is open to them but their own account. */
  readonly requiresTwoFactor: boolean;
}

interface SessionGrant {
  /** It is no key. */
  readonly keyId: null;
  readonly scopes: readonly Scope[];
  /** The service's own hold. */
  readonly rateLimits: null;
  /** A uuid. */
  readonly sessionId: string;
  readonly sessionExpiresAt: Date;
  /** When the user last entered the password, and a code with two-factor. */
  readonly authenticatedAt: Date;
  readonly user: SignedInUser;
}

/** An owner or a member of an organisation. `actor` is the person. */
export interface MemberSessionPrincipal extends OrganizationPrincipal, SessionGrant {
  readonly organizationName: string;
}
export interface OperatorSessionPrincipal extends OperatorPrincipal, SessionGrant {
  readonly organizationName: null;
}
export type SessionPrincipal = MemberSessionPrincipal | OperatorSessionPrincipal;

/** Who has to have a second factor: REQUIRE_TWO_FACTOR. */
export type TwoFactorPolicy = "none" | "operators" | "all";

export function requiresTwoFactor(policy: TwoFactorPolicy, role: UserRole): boolean {
  return policy === "all" || (policy === "operators" && role === "operator");
}

/** What each role may do. */
export const scopesByRole: Readonly<Record<UserRole, readonly Scope[]>> = {
  owner: ["jobs:read", "jobs:write", "webhooks:manage"],
  member: ["jobs:read", "jobs:write"],
  operator: ["jobs:read", "jobs:write", "webhooks:manage"],
};
