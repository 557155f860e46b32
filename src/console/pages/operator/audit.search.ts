/** Which part of the audit log is shown, as its address says it. */
import { oneOf, typedId, type RawSearch } from "../../app/search.ts";
import { auditActions } from "./audit.words.ts";

export interface AuditSearch {
  action?: string | undefined;
  /** `org_…` */
  organization?: string | undefined;
}

export function auditSearch(search: RawSearch): AuditSearch {
  return {
    action: oneOf(search["action"], Object.keys(auditActions)),
    organization: typedId(search["organization"], "org"),
  };
}
