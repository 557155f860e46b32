/** A signed-in person as a caller: what every service is told of them, as it is told of a key. */
import type { Scope } from "../api-keys/api-key.entity.ts";
import type { Operator, Principal } from "../platform/principal.ts";
import type { UserRole } from "./user.entity.ts";

export interface SignedInUser {
  /** A uuid. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly hasSecondFactor: boolean;
  /** Until they have one nothing is open to them but their own account. */
  readonly mustHaveSecondFactor: boolean;
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
export interface MemberSession extends Principal, SessionGrant {
  readonly organizationName: string;
}
export interface OperatorSession extends Operator, SessionGrant {
  readonly organizationName: null;
}
export type SessionHolder = MemberSession | OperatorSession;

/** Who has to have a second factor: REQUIRE_SECOND_FACTOR. */
export type SecondFactorRule = "nobody" | "operators" | "everybody";

export function mustHaveSecondFactor(rule: SecondFactorRule, role: UserRole): boolean {
  return rule === "everybody" || (rule === "operators" && role === "operator");
}

/** What each role may do. */
export const scopesOfRole: Readonly<Record<UserRole, readonly Scope[]>> = {
  owner: ["jobs:read", "jobs:write", "webhooks:manage"],
  member: ["jobs:read", "jobs:write"],
  operator: ["jobs:read", "jobs:write", "webhooks:manage"],
};
