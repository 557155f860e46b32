/** Audit log entries in the shape of the GraphQL schema. */
import type { AuditEntryView } from "../../audit/api.ts";
import { toTypedId } from "../../platform/ids.ts";

/** `organizationId` is a UUID, not a typed ID. */
export type AuditEntryNode = AuditEntryView;

export function toAuditEntryNode(view: AuditEntryView): AuditEntryNode {
  return { ...view, id: toTypedId("aud", view.id) };
}
