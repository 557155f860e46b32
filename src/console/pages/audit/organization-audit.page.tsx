/** The audit log of an organisation, for its owners. */
import { PageHeader } from "../../components/layout/page-header.tsx";
import { AuditList } from "./audit.list.tsx";

export function OrganizationAuditPage() {
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Changes to your organisation’s members, API keys and webhooks, and who made them. Entries can’t be changed or removed."
      />
      <AuditList filter={{}} showOrganization={false} first={30} />
    </>
  );
}
