/** The principal of the request, its limits and its rate limits. */
import { hasTestOrganizations } from "../../../organizations/api.ts";
import { isTestPrincipal, partnerOf } from "../../../core/principal.ts";
import { rateLimitsOf } from "../../../rate-limits/api.ts";
import { readFirstSteps } from "../../../test-mode/api.ts";
import { requirePrincipal } from "../authorize.ts";
import type { QueryResolvers, ViewerResolvers } from "../generated/schema-types.ts";
import { isSessionPrincipal, rateLimitSubjectOf } from "../authenticated-principal.ts";
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
  mode: (principal) => (isTestPrincipal(principal) ? "test" : "live"),
  hasTestMode: (principal, _args, { database }) =>
    principal.organizationId !== null &&
    (isTestPrincipal(principal) || hasTestOrganizations(database, principal.organizationId)),
  firstSteps(principal, _args, { database }) {
    const organizationId = isSessionPrincipal(principal) ? partnerOf(principal) : null;
    return organizationId === null ? null : readFirstSteps(database, organizationId);
  },
  limits: () => limits,
  rateLimits: (principal, _args, { services }) =>
    rateLimitsOf(services.limits, rateLimitSubjectOf(principal)),
};
