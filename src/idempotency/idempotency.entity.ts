/** The answer to a request with an Idempotency-Key that changed something: stored for 24 hours per organisation and route. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const IdempotencyRecord = defineEntity({
  name: "IdempotencyRecord",
  tableName: "idempotency_record",
  properties: {
    organizationId: p.uuid().primary(),
    route: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of path, query, If-Match and body: the same key with another request is refused. */
    fingerprint: p.blob(),
    answer: p.text(),
    /** Of `answer`, in UTF-8. */
    bytes: p.integer().default(0),
    expiresAt: p.datetime(3),
  },
  indexes: [
    { name: "idempotency_record_expiry", properties: ["expiresAt"] },
    // Answers alone how much each organisation stores, and what of that is oldest.
    { name: "idempotency_record_stored", properties: ["organizationId", "expiresAt", "bytes"] },
  ],
});
