/** Stored responses of changes that were sent with an Idempotency-Key, kept for 24 hours per organisation, route and key. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const IdempotencyRecord = defineEntity({
  name: "IdempotencyRecord",
  tableName: "idempotency_record",
  properties: {
    organizationId: p.uuid().primary(),
    route: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of everything that makes the request the same. The same key with a different request is rejected. */
    fingerprint: p.blob(),
    /** As JSON, with the ID of the first request. */
    answer: p.text(),
    /** The size of `answer` in UTF-8. */
    bytes: p.integer().default(0),
    expiresAt: p.datetime(3),
  },
  indexes: [
    { name: "idempotency_record_expiry", properties: ["expiresAt"] },
    // A covering index for how much each organisation stores, and for its oldest records.
    { name: "idempotency_record_stored", properties: ["organizationId", "expiresAt", "bytes"] },
  ],
});
