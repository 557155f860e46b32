/** An entry of the audit log as resolvers hand it on. */
import type { AuditEntryView } from "../../audit/api.ts";
import { toTypedId } from "../../platform/ids.ts";

/** `organizationId` is a uuid. */
export type AuditEntryNode = AuditEntryView;

export function toAuditEntryNode(view: AuditEntryView): AuditEntryNode {
  return { ...view, id: toTypedId("aud", view.id) };
}
