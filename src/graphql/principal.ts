/** The authenticated principal of a request: an API key or a signed-in user. Users have no `keyId`. */
import type { OperatorSessionPrincipal, SessionPrincipal } from "../accounts/api.ts";
import type { ApiKeyPrincipal, OperatorKeyPrincipal } from "../api-keys/api.ts";
import type { RateLimitSubject } from "../rate-limits/api.ts";

export type AuthenticatedPrincipal = ApiKeyPrincipal | SessionPrincipal;
export type AuthenticatedOperator = OperatorKeyPrincipal | OperatorSessionPrincipal;

export function isSessionPrincipal(principal: AuthenticatedPrincipal): principal is SessionPrincipal {
  return principal.keyId === null;
}

/** All sessions of a user share one bucket. */
export function rateLimitSubjectOf(principal: AuthenticatedPrincipal): RateLimitSubject {
  const { organizationId, rateLimits } = principal;
  return isSessionPrincipal(principal)
    ? { kind: "user", bucketKey: principal.user.id, organizationId, rateLimits }
    : { kind: "key", bucketKey: principal.rateBucket, organizationId, rateLimits };
}
