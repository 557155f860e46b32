/** API keys in the shape of the GraphQL schema, without their secrets. */
import { type ApiKey, modeOfKey } from "../../../api-keys/api.ts";
import { toTypedId } from "../../../core/ids.ts";
import { toOrganizationNode } from "./organization.node.ts";

export type ApiKeyNode = ReturnType<typeof toApiKeyNode>;

export function toApiKeyNode(key: ApiKey) {
  const { prefix, name, scopes, createdBy } = key;
  return {
    id: toTypedId("key", key.id),
    prefix,
    name,
    mode: modeOfKey(key),
    organization: key.organization ? toOrganizationNode(key.organization) : null,
    scopes,
    cidrs: key.cidrs ?? null,
    createdBy,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
