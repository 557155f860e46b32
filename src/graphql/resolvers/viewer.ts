/** The principal of the request, its limits and its rate limits. */
import {
  effectiveLimit,
  organizationLimit,
  rateLimitClasses,
  type RateLimits,
  type RateLimitOverrides,
} from "../../rate-limits/api.ts";
import { toScopeName } from "../nodes/api-key.node.ts";
import { requirePrincipal } from "../authorize.ts";
import type { QueryResolvers, ViewerResolvers } from "../generated/schema-types.ts";
import { isSessionPrincipal } from "../principal.ts";
import { limits } from "../execution/limits.ts";

export const viewerQueries: Pick<QueryResolvers, "viewer"> = {
  viewer: (_root, _args, context) => requirePrincipal(context),
};

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) =>
    organizationType === null
      ? "OPERATOR"
      : (organizationType.toUpperCase() as Uppercase<typeof organizationType>),
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
  user: (principal, _args, { loaders }) =>
    isSessionPrincipal(principal) ? loaders.users.load(principal.user.id) : null,
  scopes: ({ scopes }) => scopes.map(toScopeName),
  limits: () => limits,
  rateLimits: (principal, _args, { services }) =>
    services.rateLimits ? rateLimitsOf(services.rateLimits, principal) : [],
};

function rateLimitsOf(
  { organizationFactor }: RateLimits,
  { rateLimits, organizationId }: { rateLimits: RateLimitOverrides | null; organizationId: string | null },
) {
  return rateLimitClasses.flatMap((kind) => {
    const limit = effectiveLimit(rateLimits, kind);
    if (!limit) return [];
    const organization = organizationId === null ? null : organizationLimit(limit, kind, organizationFactor);
    return [{ class: kind.toUpperCase() as Uppercase<typeof kind>, ...limit, organization }];
  });
}
