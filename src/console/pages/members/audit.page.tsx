/** What was done in the organisation, for its owners. */
import { PageHeader } from "../../components/page-header.tsx";
import { AuditList } from "../operator/audit.list.tsx";

export function OrganizationAuditPage() {
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Changes of members, API keys and webhooks of your organisation, and who made them. Entries cannot be changed or removed."
      />
      <AuditList filter={{}} withOrganization={false} first={30} />
    </>
  );
}
