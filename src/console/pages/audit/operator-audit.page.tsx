/** The audit log for operators, with filters. */
import { Group, Select } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { AuditList } from "./audit.list.tsx";
import { actionGroups } from "./audit.labels.ts";
import { OrganizationSelect } from "../operator/organizations/organization.select.tsx";

const route = getRouteApi("/console/operator/audit");
const actionOptions = actionGroups();

export function AuditPage() {
  const { action, organization } = route.useSearch();
  const navigate = useNavigate({ from: "/operator/audit" });
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Who did what, when and from which IP address. Entries can’t be changed or removed."
      />
      <Group mb="md" align="end">
        <Select
          label="Action"
          placeholder="Any action"
          data={actionOptions}
          value={action ?? null}
          onChange={(value) =>
            void navigate({ search: (former) => ({ ...former, action: value ?? undefined }) })
          }
          searchable
          clearable
          clearButtonProps={{ "aria-label": "Any action" }}
          w={{ base: "100%", xs: 280 }}
        />
        <OrganizationSelect
          label="Organisation"
          placeholder="Any organisation"
          value={organization ?? null}
          onChange={(value) =>
            void navigate({ search: (former) => ({ ...former, organization: value ?? undefined }) })
          }
          w={{ base: "100%", xs: 280 }}
        />
      </Group>
      <AuditList
        filter={{ actions: action === undefined ? undefined : [action], organizationId: organization }}
        showOrganization
        first={30}
      />
    </>
  );
}
