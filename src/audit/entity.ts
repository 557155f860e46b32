/** The audit log. Rows are inserted once and never changed. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { actorTypes } from "../core/principal.ts";

/** No foreign keys, as entries outlive the objects they name. */
export const AuditEntry = defineEntity({
  name: "AuditEntry",
  tableName: "audit_entry",
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3).defaultRaw("clock_timestamp()"),
    action: p.text(),
    actorType: p.enum(actorTypes),
    actorId: p.uuid().nullable(),
    /** The actor's display name at that time: a user's e-mail address, a key's id, or `system`. */
    actor: p.text(),
    byOperator: p.boolean(),
    organizationId: p.uuid().nullable(),
    subject: p.text().nullable(),
    details: p.json<Record<string, unknown> | null>().nullable(),
    ipAddress: p.text().nullable(),
    requestId: p.text().nullable(),
  },
  indexes: [
    { name: "audit_entry_organization", properties: ["organizationId", "id"] },
    { name: "audit_entry_action", properties: ["action", "id"] },
  ],
});

export type AuditEntry = InferEntity<typeof AuditEntry>;
