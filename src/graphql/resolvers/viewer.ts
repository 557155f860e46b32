/** Who is asking, and organisations. */
import { listOrganizations } from "../../organizations/organization.lookup.ts";
import { toScopeName } from "../nodes/api-key.node.ts";
import { toOrganizationNode } from "../nodes/organization.node.ts";
import { holderOf, operatorOf } from "../access.ts";
import type { QueryResolvers, ViewerResolvers } from "../generated/schema-types.ts";
import { limits } from "../limits.ts";

export const viewerQueries: Pick<QueryResolvers, "viewer" | "organizations"> = {
  viewer: (_root, _args, context) => holderOf(context),
  async organizations(_root, _args, context) {
    operatorOf(context, "jobs:read");
    return (await listOrganizations(context.database)).map(toOrganizationNode);
  },
};

export const viewer: ViewerResolvers = {
  kind: ({ organizationType }) =>
    organizationType === null
      ? "OPERATOR"
      : (organizationType.toUpperCase() as Uppercase<typeof organizationType>),
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
  scopes: ({ scopes }) => scopes.map(toScopeName),
  limits: () => limits,
};
