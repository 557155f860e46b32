/** An API key: what is kept of it (never the secret), what it may do and from where. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";

export const scopes = ["jobs:read", "jobs:write", "webhooks:manage"] as const;
export type Scope = (typeof scopes)[number];

export const ApiKey = defineEntity({
  name: "ApiKey",
  tableName: "api_key",
  properties: {
    id: p.uuid().primary(),
    /** The 8 characters by which a presented key is found. */
    lookup: p.text().unique(),
    secretHash: p.blob(),
    /** Null: an operator's. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    name: p.text(),
    scopes: p.array().$type<Scope[]>(),
    /** CIDR ranges that the key may be used from; null: anywhere. */
    cidrs: p.array().nullable(),
    rateLimits: p.json<RateLimitOverrides | null>().nullable(),
    createdBy: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    /** Whose token buckets it draws from: the first key of a row of rotations. Null: its own. */
    rateBucket: p.uuid().nullable(),
    /** The access revision of its last change, or of its organisation's: processes drop it from memory by this. */
    accessRevision: p.integer().default(0),
  },
  indexes: [
    { name: "api_key_organization", properties: ["organization", "expiresAt"] },
    { name: "api_key_access_revision", properties: ["accessRevision"] },
  ],
});

export type ApiKey = InferEntity<typeof ApiKey>;

/**
 * One row, whose number grows with every change to a key or an organisation that could take access away. The keys that are
 * affected get the new number. Each process polls it and drops the keys with a higher number than it has seen.
 */
export const AccessRevision = defineEntity({
  name: "AccessRevision",
  tableName: "access_revision",
  properties: { id: p.boolean().primary(), revision: p.integer() },
});
