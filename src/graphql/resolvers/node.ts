/** The `node` and `nodes` queries: any object by its ID. */
import { fromTypedId } from "../../platform/ids.ts";
import { requirePrincipal, canViewMembers } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type { NodeResolvers, QueryResolvers, ResolversTypes } from "../generated/schema-types.ts";

type NodeResult = ResolversTypes["Node"] | null;

const nodeTypes = {
  job: { type: "Job", scope: "jobs:read", find: (uuid, { loaders }) => loaders.jobs.load(uuid) },
  evt: { type: "JobEvent", scope: "jobs:read", find: (uuid, { loaders }) => loaders.events.load(uuid) },
  org: {
    type: "Organization",
    scope: "jobs:read",
    find: (uuid, { loaders }) => loaders.organizations.load(uuid),
  },
  whe: {
    type: "WebhookEndpoint",
    scope: "webhooks:manage",
    find: (uuid, { loaders }) => loaders.endpoints.load(uuid),
  },
  dlv: {
    type: "WebhookDelivery",
    scope: "webhooks:manage",
    find: (uuid, { loaders }) => loaders.deliveries.load(uuid),
  },
  att: {
    type: "WebhookAttempt",
    scope: "webhooks:manage",
    find: (uuid, { loaders }) => loaders.attempts.load(uuid),
  },
  arq: {
    type: "AccountRequest",
    scope: "webhooks:manage",
    find: (uuid, { loaders }) => loaders.accountRequests.load(uuid),
  },
  usr: {
    type: "User",
    scope: "jobs:read",
    find: async (uuid, { loaders, principal }) =>
      principal && canViewMembers(principal) ? loaders.users.load(uuid) : null,
  },
  key: { type: "ApiKey", scope: "webhooks:manage", find: (uuid, { loaders }) => loaders.apiKeys.load(uuid) },
  aud: {
    type: "AuditEntry",
    scope: null,
    find: (uuid, { loaders }) => loaders.auditEntries.load(uuid),
  },
  eml: { type: "Mail", scope: null, find: (uuid, { loaders }) => loaders.mails.load(uuid) },
  inv: { type: "Invitation", scope: null, find: (uuid, { loaders }) => loaders.invitations.load(uuid) },
  viw: { type: "SavedView", scope: null, find: (uuid, { loaders }) => loaders.savedViews.load(uuid) },
} as const satisfies Record<
  string,
  {
    type: string;
    /** Null: the loader checks the access. */
    scope: "jobs:read" | "webhooks:manage" | null;
    find: (uuid: string, context: GraphqlContext) => Promise<NodeResult>;
  }
>;

export const nodeQueries: Pick<QueryResolvers, "node" | "nodes"> = {
  node: (_root, { id }, context) => findNode(id, context),
  nodes: (_root, { ids }, context) => Promise.all(ids.map((id) => findNode(id, context))),
};

export const node: NodeResolvers = {
  __resolveType: ({ id }) => nodeTypes[id.slice(0, 3) as keyof typeof nodeTypes].type,
};

/** Looks the ID up by its prefix. Returns null if it is malformed, unknown or not visible to the principal. */
async function findNode(id: string, context: GraphqlContext): Promise<NodeResult> {
  const { scopes } = requirePrincipal(context);
  const prefix = id.slice(0, 3).toLowerCase();
  if (!Object.hasOwn(nodeTypes, prefix)) return null;
  const nodeType = nodeTypes[prefix as keyof typeof nodeTypes];
  const uuid = fromTypedId(prefix as keyof typeof nodeTypes, id);
  if (uuid === null || (nodeType.scope !== null && !scopes.includes(nodeType.scope))) return null;
  return await nodeType.find(uuid, context);
}
