/** One organisation: details, suspension and activity. */
import { useQuery } from "@apollo/client/react";
import { Stack, Title } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { DescriptionCard } from "../../../components/display/description-card.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../../components/status/page-states.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { OrganizationPageDocument } from "../../../generated/organization.ts";
import type { OrganizationRowFragment } from "../../../generated/organizations.ts";
import { organizationTypeLabels } from "../account-requests/account-request.labels.ts";
import { AuditList } from "../../audit/audit.list.tsx";
import classes from "../operator.module.css";
import { Alert } from "../../../components/status/alert.tsx";
import { OrganizationStatusBadge } from "./organizations.page.tsx";
import { SuspensionAction } from "./suspension.action.tsx";

const route = getRouteApi("/console/operator/organizations/$id");

const back = <TextLink to="/operator/organizations">Organisations</TextLink>;

export function OrganizationPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(OrganizationPageDocument, { variables: { id } });
  const node = data?.node;
  const organization = node && "memberCount" in node ? (node as OrganizationRowFragment) : null;
  if (organization) return <OrganizationView organization={organization} />;
  if (data)
    return (
      <NotFound title="Organisation not found" action={back}>
        This organisation doesn’t exist.
      </NotFound>
    );
  return (
    <>
      <PageHeader title="Organisation" back={back} />
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <LoadingState />}
    </>
  );
}

function OrganizationView({ organization }: { organization: OrganizationRowFragment }) {
  const { id, name, suspendedAt } = organization;
  return (
    <>
      <PageHeader
        title={name}
        titleAside={<OrganizationStatusBadge organization={organization} />}
        back={back}
        actions={<SuspensionAction organization={organization} />}
      />
      <div className={classes.columns}>
        <Stack gap="lg">
          {suspendedAt !== null && (
            <Alert color="red" icon={<IconBan aria-hidden="true" />} title="Suspended" guide="screen">
              Since <Timestamp value={suspendedAt} display="exact" />: API keys are rejected, members can’t
              sign in, and webhooks are not delivered. Events are kept for the retention period.
            </Alert>
          )}
          <section aria-labelledby="audit">
            <Title order={2} id="audit" mb="sm">
              Activity
            </Title>
            <AuditList filter={{ organizationId: id }} showOrganization={false} first={10} />
          </section>
        </Stack>
        <OrganizationDetails organization={organization} />
      </div>
    </>
  );
}

function OrganizationDetails({ organization }: { organization: OrganizationRowFragment }) {
  const { id, type, memberCount, createdAt } = organization;
  return (
    <DescriptionCard
      label="Organisation details"
      items={[
        { label: "Type", value: organizationTypeLabels[type] },
        { label: "Members", value: memberCount?.toLocaleString("en") ?? null },
        { label: "Created", value: createdAt && <Timestamp value={createdAt} display="exact" /> },
        {
          label: "ID",
          value: (
            <>
              <code>{id}</code> <CopyButton value={id} label="ID" />
            </>
          ),
        },
      ]}
    />
  );
}
