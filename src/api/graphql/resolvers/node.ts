/** The `node` and `nodes` queries: any object by its ID. */
import { fromTypedId } from "../../../core/ids.ts";
import { isAllowed } from "../../../operations/admit.ts";
import { rootAccess } from "../../../operations/all.ts";
import type { ReadAccess } from "../../../operations/operation.ts";
import type { GraphqlContext } from "../context.ts";
import type { LoaderName } from "../loaders.ts";
import { withAccess } from "../authorize.ts";
import type { Resolvers, ResolversTypes } from "../generated/schema-types.ts";

export const nodeResolvers: Resolvers = {
  Query: withAccess({
    node: (_root, { id }, context) => findNode(id, context),
    nodes: (_root, { ids }, context) => Promise.all(ids.map((id) => findNode(id, context))),
  }),
  Node: {
    __resolveType: ({ id }) => nodeTypes[id.slice(0, 3) as keyof typeof nodeTypes].type,
  },
};

type NodeResult = ResolversTypes["Node"] | null;

interface NodeType {
  readonly type: string;
  readonly access: ReadAccess;
  readonly loader: LoaderName;
}

/** By the prefix of typed IDs. */
const nodeTypes = {
  job: { type: "Job", access: rootAccess.job, loader: "jobs" },
  evt: { type: "JobEvent", access: rootAccess.events, loader: "events" },
  org: { type: "Organization", access: rootAccess.job, loader: "organizations" },
  whe: { type: "WebhookEndpoint", access: rootAccess.webhookEndpoint, loader: "endpoints" },
  dlv: { type: "WebhookDelivery", access: rootAccess.webhookDeliveries, loader: "deliveries" },
  att: { type: "WebhookAttempt", access: rootAccess.webhookDeliveries, loader: "attempts" },
  arq: { type: "AccountRequest", access: rootAccess.accountRequests, loader: "accountRequests" },
  usr: { type: "User", access: rootAccess.members, loader: "users" },
  key: { type: "ApiKey", access: rootAccess.apiKeys, loader: "apiKeys" },
  aud: { type: "AuditEntry", access: rootAccess.auditLog, loader: "auditEntries" },
  eml: { type: "Mail", access: rootAccess.mailOutbox, loader: "mails" },
  inv: { type: "Invitation", access: rootAccess.invitations, loader: "invitations" },
  viw: { type: "SavedView", access: rootAccess.savedViews, loader: "savedViews" },
} as const satisfies Record<string, NodeType>;

/** Looks the ID up by its prefix. Returns null if it is malformed, unknown or not visible to the principal. */
async function findNode(id: string, { principal, loaders }: GraphqlContext): Promise<NodeResult> {
  const prefix = id.slice(0, 3).toLowerCase();
  if (!Object.hasOwn(nodeTypes, prefix)) return null;
  const nodeType = nodeTypes[prefix as keyof typeof nodeTypes];
  const uuid = fromTypedId(prefix as keyof typeof nodeTypes, id);
  if (uuid === null || !isAllowed(nodeType.access, principal)) return null;
  return await loaders.load(nodeType.loader, uuid);
}
