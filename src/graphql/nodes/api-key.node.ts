/** API keys in the shape of the GraphQL schema, without their secrets. */
import type { KeyView, Scope } from "../../api-keys/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import { toOrganizationNode, type OrganizationNode } from "./organization.node.ts";

export type ScopeName = "JOBS_READ" | "JOBS_WRITE" | "WEBHOOKS_MANAGE";

export interface ApiKeyNode {
  readonly id: string;
  readonly startsWith: string;
  readonly name: string;
  readonly organization: OrganizationNode | null;
  readonly scopes: readonly ScopeName[];
  readonly cidrs: readonly string[] | null;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
}

export function toScopeName(scope: Scope): ScopeName {
  return scope.replace(":", "_").toUpperCase() as ScopeName;
}

export function fromScopeName(name: ScopeName): Scope {
  return name.toLowerCase().replace("_", ":") as Scope;
}

export function toApiKeyNode(key: KeyView): ApiKeyNode {
  return {
    id: toTypedId("key", key.id),
    startsWith: `wmk_${key.lookup}`,
    name: key.name,
    organization: key.organization ? toOrganizationNode(key.organization) : null,
    scopes: key.scopes.map(toScopeName),
    cidrs: key.cidrs ?? null,
    createdBy: key.createdBy,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
