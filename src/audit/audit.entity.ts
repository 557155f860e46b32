/** The audit log: one row for each act that the service keeps account of. Written once, never changed. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { actorTypes } from "../platform/principal.ts";

/** Foreign keys are left out: the log outlives what it speaks of. */
export const AuditEntry = defineEntity({
  name: "AuditEntry",
  tableName: "audit_entry",
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3).defaultRaw("clock_timestamp()"),
    action: p.text(),
    actorType: p.enum(actorTypes),
    actorId: p.uuid().nullable(),
    /** Who it was in words, as it was then: a person's address, a key's id, or `system`. */
    actor: p.text(),
    byOperator: p.boolean(),
    organizationId: p.uuid().nullable(),
    subject: p.text().nullable(),
    details: p.json<Record<string, unknown> | null>().nullable(),
    address: p.text().nullable(),
    requestId: p.text().nullable(),
  },
  indexes: [
    { name: "audit_entry_organization", properties: ["organizationId", "id"] },
    { name: "audit_entry_action", properties: ["action", "id"] },
  ],
});
