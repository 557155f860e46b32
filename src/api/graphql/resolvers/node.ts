/** The `node` and `nodes` queries: any object by its ID. */
import type { Scope } from "../../../api-keys/api.ts";
import { fromTypedId } from "../../../core/ids.ts";
import { requirePrincipal } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type { LoaderName } from "../loaders.ts";
import type { NodeResolvers, QueryResolvers, ResolversTypes } from "../generated/schema-types.ts";

type NodeResult = ResolversTypes["Node"] | null;

interface NodeType {
  readonly type: string;
  /** Null: the loader checks the access. */
  readonly scope: Scope | null;
  readonly loader: LoaderName;
}

/** By the prefix of typed IDs. */
const nodeTypes = {
  job: { type: "Job", scope: "jobs:read", loader: "jobs" },
  evt: { type: "JobEvent", scope: "jobs:read", loader: "events" },
  org: { type: "Organization", scope: "jobs:read", loader: "organizations" },
  whe: { type: "WebhookEndpoint", scope: "webhooks:manage", loader: "endpoints" },
  dlv: { type: "WebhookDelivery", scope: "webhooks:manage", loader: "deliveries" },
  att: { type: "WebhookAttempt", scope: "webhooks:manage", loader: "attempts" },
  arq: { type: "AccountRequest", scope: "webhooks:manage", loader: "accountRequests" },
  usr: { type: "User", scope: "jobs:read", loader: "users" },
  key: { type: "ApiKey", scope: "keys:manage", loader: "apiKeys" },
  aud: { type: "AuditEntry", scope: null, loader: "auditEntries" },
  eml: { type: "Mail", scope: null, loader: "mails" },
  inv: { type: "Invitation", scope: null, loader: "invitations" },
  viw: { type: "SavedView", scope: null, loader: "savedViews" },
} as const satisfies Record<string, NodeType>;

export const nodeQueries: QueryResolvers = {
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
  return await context.loaders.load(nodeType.loader, uuid);
}
