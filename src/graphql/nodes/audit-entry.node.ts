/** An entry of the audit log as resolvers hand it on. */
import type { ActView } from "../../accounts/audit.service.ts";
import { toTypedId } from "../../platform/ids.ts";

/** `organizationId` is a uuid. */
export type AuditEntryNode = ActView;

export function toAuditEntryNode(view: ActView): AuditEntryNode {
  return { ...view, id: toTypedId("aud", view.id) };
}
