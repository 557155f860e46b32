/** The authenticated principal of a request: an API key or a signed-in user. Users have no `keyId`. */
import type { SessionPrincipal } from "../../accounts/api.ts";
import type { ApiKeyPrincipal } from "../../api-keys/api.ts";
import type { OrganizationMode } from "../../organizations/api.ts";
import { partnerOf } from "../../core/principal.ts";
import type { RateLimitSubject } from "../../rate-limits/api.ts";

export type AuthenticatedPrincipal = ApiKeyPrincipal | SessionPrincipal;

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

/** Users belong to the live organisation: in test mode too, so that changes of test data show their names. API keys see no live data. */
export function memberGroupOf(principal: AuthenticatedPrincipal): { readonly organizationId: string | null } {
  return isSessionPrincipal(principal) ? { organizationId: partnerOf(principal) } : principal;
}
