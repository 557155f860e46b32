/** The authenticated principal of a request: an API key or a signed-in user. Users have no `keyId`. */
import type { OperatorSessionPrincipal, SessionPrincipal } from "../../accounts/api.ts";
import type { ApiKeyPrincipal, OperatorKeyPrincipal } from "../../api-keys/api.ts";
import type { OrganizationMode } from "../../organizations/api.ts";
import { partnerOf } from "../../core/principal.ts";
import { hasRole } from "../../operations/admit.ts";
import type { RateLimitSubject } from "../../rate-limits/api.ts";

export type AuthenticatedPrincipal = ApiKeyPrincipal | SessionPrincipal;
export type AuthenticatedOperator = OperatorKeyPrincipal | OperatorSessionPrincipal;

export function isSessionPrincipal(principal: AuthenticatedPrincipal): principal is SessionPrincipal {
  return principal.keyId === null;
}

/** All sessions of a user share one bucket. */
export function rateLimitSubjectOf(principal: AuthenticatedPrincipal): RateLimitSubject {
  const { rateLimits } = principal;
  const partnerId = partnerOf(principal);
  return isSessionPrincipal(principal)
    ? { kind: "user", bucketKey: principal.user.id, partnerId, rateLimits }
    : { kind: "key", bucketKey: principal.rateBucket, partnerId, rateLimits };
}

/** The mode of what an operator lists: live unless the operator asks for `mode`. Undefined for partners, whose principal has a mode. */
export function listedMode(
  { organizationId }: AuthenticatedPrincipal,
  mode: OrganizationMode | null | undefined,
): OrganizationMode | undefined {
  return organizationId === null ? (mode ?? "live") : undefined;
}

/** True for signed-in users and for keys with `webhooks:manage`: they may list the users of their organisation. */
export function canViewMembers(principal: AuthenticatedPrincipal): boolean {
  return isSessionPrincipal(principal) || principal.scopes.includes("webhooks:manage");
}

/** Users belong to the live organisation: in test mode too, so that changes of test data show their names. API keys see no live data. */
export function memberGroupOf(principal: AuthenticatedPrincipal): { readonly organizationId: string | null } {
  return isSessionPrincipal(principal) ? { organizationId: partnerOf(principal) } : principal;
}

/** True for signed-in owners and operators, except in test mode. */
export function canManageMembers(principal: AuthenticatedPrincipal): boolean {
  return hasRole("owner", principal);
}

/** True for signed-in owners, and for operators with `webhooks:manage`, by session or by key. */
export function canReadAuditLog(principal: AuthenticatedPrincipal): boolean {
  return principal.organizationId === null ? canReadMails(principal) : canManageMembers(principal);
}

/** True for operators with `webhooks:manage`. */
export function canReadMails({ organizationId, scopes }: AuthenticatedPrincipal): boolean {
  return organizationId === null && scopes.includes("webhooks:manage");
}
