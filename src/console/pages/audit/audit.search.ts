/** The filters of the audit log in the URL. */
import { enumParam, typedIdParam, type RawSearch } from "../../app/search-params.ts";
import { auditActionLabels } from "./audit.labels.ts";

export interface AuditSearch {
  action?: string | undefined;
  /** `org_…` */
  organization?: string | undefined;
}

export function parseAuditSearch(search: RawSearch): AuditSearch {
  return {
    action: enumParam(search["action"], Object.keys(auditActionLabels)),
    organization: typedIdParam(search["organization"], "org"),
  };
}
