/** What was answered to an Idempotency-Key: kept 24 hours per organisation and route. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const IdempotencyRecord = defineEntity({
  name: "IdempotencyRecord",
  tableName: "idempotency_record",
  properties: {
    organizationId: p.uuid().primary(),
    route: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of path, query and body: the same key with another request is refused. */
    fingerprint: p.blob(),
    /** Null while the first request is still being answered. */
    answer: p.text().nullable(),
    /** An unanswered record is free again after this: its process has died. */
    lockedUntil: p.datetime(3),
    expiresAt: p.datetime(3),
  },
  indexes: [{ name: "idempotency_record_expiry", properties: ["expiresAt"] }],
});
