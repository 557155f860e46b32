/** The principal of the request, its limits and its rate limits. */
import {
  effectiveLimit,
  organizationLimit,
  rateLimitClasses,
  type RateLimits,
  type RateLimitOverrides,
} from "../../rate-limits/api.ts";
import { requirePrincipal } from "../authorize.ts";
import type { QueryResolvers, ViewerResolvers } from "../generated/schema-types.ts";
import { isSessionPrincipal } from "../authenticated-principal.ts";
import { limits } from "../execution/limits.ts";

export const viewerQueries: QueryResolvers = {
  viewer: (_root, _args, context) => requirePrincipal(context),
};

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) => organizationType ?? "operator",
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
  user: (principal, _args, { loaders }) =>
    isSessionPrincipal(principal) ? loaders.load("users", principal.user.id) : null,
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
    return [{ class: kind, ...limit, organization }];
  });
}
