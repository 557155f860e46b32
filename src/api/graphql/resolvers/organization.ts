/** Lists organisations for operators, and returns the fields of an organisation that not every principal may see. */
import { toApiKeyView } from "../../../api-keys/api.ts";
import { systemActor } from "../../../core/principal.ts";
import { invariant } from "../../../core/errors.ts";
import { fromTypedId, toTypedId } from "../../../core/ids.ts";
import { organizationsNeedingAttention, storageOf } from "../../../partners/api.ts";
import { listOrganizations, organizationCursor } from "../../../organizations/api.ts";
import { rateLimitsOf } from "../../../rate-limits/api.ts";
import type { GraphqlContext } from "../context.ts";
import { withAccess } from "../authorize.ts";
import type { Resolvers } from "../generated/schema-types.ts";
import { type OrganizationNode, toInvitationNode, toOrganizationNode, toUserNode, uuidOf } from "../nodes.ts";
import { listConnection } from "../pagination.ts";
import { Selection } from "../execution/selection.ts";

export const organizationResolvers: Resolvers = {
  Query: withAccess({
    async organizations(_root, { search, ...args }, { database }, info) {
      const filter = { search: search ?? null, include: new Selection(info).include };
      return await listConnection(args, {
        cursor: organizationCursor,
        list: (page) => listOrganizations(database, { ...filter, ...page }),
        toNode: toOrganizationNode,
      });
    },
    async organizationOverview(_root, { id }, { loaders }) {
      const uuid = fromTypedId("org", id);
      if (uuid === null || (await loaders.load("organizationSummaries", uuid))?.isTest !== false) return null;
      return await loaders.load("organizations", uuid);
    },
    organizationsNeedingAttention: (_root, _args, { database }) => organizationsNeedingAttention(database),
  }),
  OrganizationAttention: {
    async organization({ organizationId }, _args, { loaders }) {
      const node = await loaders.load("organizations", organizationId);
      invariant(node, "the statement returns existing organisations");
      return node;
    },
    endpointId: ({ reason, subjectId }) =>
      subjectId !== null && reason !== "key_expiring" ? toTypedId("whe", subjectId) : null,
  },
  OrganizationOverview: {
    organization: (node) => node,
    async members(node, _args, { services, database }) {
      return (await services.members.list(principalOf(node), database)).map(toUserNode);
    },
    async invitations(node, _args, { services, database }) {
      return (await services.invitations.list(principalOf(node), database)).map(toInvitationNode);
    },
    async apiKeys(node, _args, { services, database }) {
      return (await services.keys.listFor(principalOf(node), database)).map(toApiKeyView);
    },
    webhookEndpoints: (node, _args, { services, database }) =>
      services.endpoints.list(principalOf(node), {}, database),
    jobs: async (node, _args, context) => (await numbersOf(node, context)).jobs,
    requestsInWeek: async (node, _args, context) => (await numbersOf(node, context)).requests.week,
    requestsInMonth: async (node, _args, context) => (await numbersOf(node, context)).requests.month,
    limits: async (node, _args, context) => (await numbersOf(node, context)).limits,
    storage: ({ id }, _args, { database }) => storageOf(database, uuidOf("org", id)),
    rateLimits: ({ id }, _args, { services }) =>
      rateLimitsOf(services.limits, { rateLimits: null, partnerId: uuidOf("org", id) }),
  },
  Organization: {
    createdAt: summaryField("createdAt", isOwnOrOperator),
    timeZone: summaryField("timeZone", isOwnOrOperator),
    suspendedAt: summaryField("suspendedAt", isOperator),
    memberCount: summaryField("memberCount", isOperator),
    canImportJobs: summaryField("canImportJobs", isOperator),
    activity: (node, _args, context) =>
      isOperator(context) ? context.loaders.load("organizationActivities", uuidOf("org", node.id)) : null,
  },
};

/** A principal that sees what the organisation does. */
function principalOf({ id, type }: OrganizationNode) {
  return { organizationId: uuidOf("org", id), organizationType: type, actor: systemActor };
}

function numbersOf({ id }: OrganizationNode, { loaders }: GraphqlContext) {
  return loaders.load("organizationNumbers", uuidOf("org", id));
}

type Summary = NonNullable<Awaited<ReturnType<typeof loadSummary>>>;

function loadSummary({ loaders }: GraphqlContext, uuid: string) {
  return loaders.load("organizationSummaries", uuid);
}

/** Returns the resolver of a field that is null for other principals. */
function summaryField<Name extends keyof Summary>(
  name: Name,
  isVisible: (context: GraphqlContext, uuid: string) => boolean,
) {
  return async ({ id }: OrganizationNode, _args: unknown, context: GraphqlContext) => {
    const uuid = uuidOf("org", id);
    return isVisible(context, uuid) ? ((await loadSummary(context, uuid))?.[name] ?? null) : null;
  };
}

function isOwnOrOperator(context: GraphqlContext, uuid: string): boolean {
  return context.principal.organizationId === uuid || isOperator(context);
}

function isOperator({ principal }: GraphqlContext): boolean {
  return principal.organizationId === null;
}
