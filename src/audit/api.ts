/** What other features and the adapters may import from audit. */
export { AuditEntry } from "./audit.entity.ts";
export {
  actorDisplayName,
  type AuditContext,
  auditCursor,
  type AuditEntryView,
  type AuditEvent,
  type AuditSource,
  listAuditEntries,
  NO_SOURCE,
  readAuditCursor,
  recordAuditEvent,
} from "./audit.service.ts";
