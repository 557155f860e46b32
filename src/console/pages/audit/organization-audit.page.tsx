/** What was done in the organisation, for its owners. */
import { PageHeader } from "../../components/layout/page-header.tsx";
import { AuditList } from "./audit.list.tsx";

export function OrganizationAuditPage() {
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Changes of members, API keys and webhooks of your organisation, and who made them. Entries cannot be changed or removed."
      />
      <AuditList filter={{}} showOrganization={false} first={30} />
    </>
  );
}
