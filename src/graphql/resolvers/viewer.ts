/** Who is asking. */
import { limitOf, organizationLimit, rateLimitClasses, type RateLimits } from "../../api-keys/rate-limit.ts";
import type { KeyRateLimits } from "../../api-keys/api-key.entity.ts";
import { toScopeName } from "../nodes/api-key.node.ts";
import { holderOf } from "../access.ts";
import type { QueryResolvers, ViewerResolvers } from "../generated/schema-types.ts";
import { isPerson } from "../holder.ts";
import { limits } from "../limits.ts";

export const viewerQueries: Pick<QueryResolvers, "viewer"> = {
  viewer: (_root, _args, context) => holderOf(context),
};

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) =>
    organizationType === null
      ? "OPERATOR"
      : (organizationType.toUpperCase() as Uppercase<typeof organizationType>),
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
  user: (holder, _args, { loaders }) => (isPerson(holder) ? loaders.users.load(holder.user.id) : null),
  scopes: ({ scopes }) => scopes.map(toScopeName),
  limits: () => limits,
  rateLimits: (holder, _args, { services }) =>
    services.rateLimits ? rateLimitsOf(services.rateLimits, holder) : [],
};

function rateLimitsOf(
  { organizationFactor }: RateLimits,
  { rateLimits, organizationId }: { rateLimits: KeyRateLimits | null; organizationId: string | null },
) {
  return rateLimitClasses.flatMap((kind) => {
    const limit = limitOf(rateLimits, kind);
    if (!limit) return [];
    const organization = organizationId === null ? null : organizationLimit(limit, kind, organizationFactor);
    return [{ class: kind.toUpperCase() as Uppercase<typeof kind>, ...limit, organization }];
  });
}
