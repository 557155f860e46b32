/** The exports of this feature: other features and the adapters import only from here. */
export { AuditEntry } from "./entity.ts";
export {
  actorDisplayName,
  type AuditContext,
  auditCursor,
  type AuditEntryView,
  type AuditEvent,
  type AuditSource,
  listAuditEntries,
  NO_SOURCE,
  recordAuditEvent,
} from "./service.ts";
