/** Which API key used what is deprecated, and the last notice of each removal to an organisation. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { ApiKey } from "../api-keys/api.ts";
import { Organization, tenantFilter } from "../organizations/api.ts";

/** Deleted with the key. */
export const DeprecationUse = defineEntity({
  name: "DeprecationUse",
  tableName: "deprecation_use",
  properties: {
    apiKey: () => p.manyToOne(ApiKey).primary().deleteRule("cascade"),
    /** The ID in the registry. No foreign key: the registry is code. */
    deprecation: p.text().primary(),
    organization: () => p.manyToOne(Organization).deleteRule("cascade"),
    firstUsedAt: p.datetime(3),
    lastUsedAt: p.datetime(3),
    /** At most `MAX_COUNTED_REQUESTS`. */
    requests: p.integer(),
  },
  filters: tenantFilter,
  // None on `lastUsedAt`, which changes often: its updates would need an entry in every index.
  indexes: [{ name: "deprecation_use_organization", properties: ["organization"] }],
});

export type DeprecationUse = InferEntity<typeof DeprecationUse>;

export const DeprecationNotice = defineEntity({
  name: "DeprecationNotice",
  tableName: "deprecation_notice",
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule("cascade"),
    deprecation: p.text().primary(),
    /** The announced day of removal. With a later one, the notices start again. */
    sunset: p.date().primary(),
    /** The last threshold that was mailed, in days before the sunset; null before the first. */
    daysBefore: p.integer().nullable(),
  },
});
