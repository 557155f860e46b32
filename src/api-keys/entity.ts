/** API keys. Only a hash of the secret is stored. */
import { defineEntity, type FilterQuery, p, type InferEntity } from "@mikro-orm/postgresql";
import {
  modeOf,
  Organization,
  type OrganizationMode,
  type OrganizationSelection,
  selectedOrganizations,
} from "../organizations/api.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";

export const scopes = ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"] as const;
export type Scope = (typeof scopes)[number];

/** Returns those of `scopes` that a new key gets if its creator names none. Managing keys must be chosen. */
export function withoutKeyManagement(granted: readonly Scope[]): Scope[] {
  return granted.filter((scope) => scope !== "keys:manage");
}

export const ApiKey = defineEntity({
  name: "ApiKey",
  tableName: "api_key",
  properties: {
    id: p.uuid().primary(),
    /** The key's public part, `wmk_` or `wmk_test_` and 8 characters, by which it is found. */
    prefix: p.text().unique(),
    secretHash: p.blob().lazy(),
    /** Null for an operator's key. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    name: p.text(),
    scopes: p.array().$type<Scope[]>(),
    /** CIDR ranges of client IP addresses that may use the key; null: any. */
    cidrs: p.array().nullable(),
    rateLimits: p.json<RateLimitOverrides | null>().nullable(),
    createdBy: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    /** The id of the first key of a chain of rotations, whose token buckets the key uses. Null: its own. */
    rateBucket: p.uuid().nullable(),
    /** The access revision of the last change of the key or its organisation, for the former version. */
    accessRevision: p.integer().default(0),
  },
  indexes: [
    { name: "api_key_organization", properties: ["organization", "expiresAt"] },
    { name: "api_key_access_revision", properties: ["accessRevision"] },
  ],
});

export type ApiKey = InferEntity<typeof ApiKey>;

/** Selects the keys of these organisations. Operators' keys are live and belong to none. */
export function keysOf(selection: OrganizationSelection): FilterQuery<ApiKey> {
  const { organizationId, mode } = selection;
  if (organizationId === undefined && mode === undefined) return {};
  const ofOrganizations = { organization: selectedOrganizations(selection) };
  const includesOperators = organizationId === undefined && mode === "live";
  return includesOperators ? { $or: [{ organization: null }, ofOrganizations] } : ofOrganizations;
}

/** Returns the mode of a key whose organisation is loaded. Operators' keys are live. */
export function modeOfKey({ organization }: Pick<ApiKey, "organization">): OrganizationMode {
  return organization ? modeOf(organization) : "live";
}

/**
 * A single row. Its number grows with every change of keys or of an organisation's access. Each process polls it, and drops its cached
 * keys when it has changed.
 */
export const AccessRevision = defineEntity({
  name: "AccessRevision",
  tableName: "access_revision",
  properties: { id: p.boolean().primary(), revision: p.integer() },
});
