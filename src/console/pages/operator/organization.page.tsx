/** One organisation: what is known of it, shutting it out, and what was done to it. */
import { useQuery } from "@apollo/client/react";
import { Alert, Stack, Title } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { CopyButton } from "../../components/copy-button.tsx";
import { Facts } from "../../components/facts.tsx";
import { TextLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../components/states.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { OrganizationPageDocument } from "../../generated/organization.ts";
import type { OrganizationRowFragment } from "../../generated/organizations.ts";
import { organizationTypes } from "./account-request.words.ts";
import { AuditList } from "./audit.list.tsx";
import classes from "./operator.module.css";
import { OrganizationState } from "./organizations.page.tsx";
import { SuspensionAction } from "./suspension.action.tsx";

const route = getRouteApi("/console/operator/organizations/$id");

const back = <TextLink to="/operator/organizations">Organisations</TextLink>;

export function OrganizationPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(OrganizationPageDocument, { variables: { id } });
  const node = data?.node;
  const organization = node && "memberCount" in node ? (node as OrganizationRowFragment) : null;
  if (organization) return <OrganizationView organization={organization} />;
  if (data) return <NotFound action={back}>There is no such organisation.</NotFound>;
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
        beside={<OrganizationState organization={organization} />}
        back={back}
        actions={<SuspensionAction organization={organization} />}
      />
      <div className={classes.columns}>
        <Stack gap="lg">
          {suspendedAt !== null && (
            <Alert color="red" icon={<IconBan aria-hidden="true" />} title="Shut out">
              Since <Timestamp value={suspendedAt} display="exact" /> its keys are refused, nobody of it is
              signed in, and nothing is delivered to its endpoints. Its events are kept for the retention
              time.
            </Alert>
          )}
          <section aria-labelledby="audit">
            <Title order={2} id="audit" mb="sm">
              What was done
            </Title>
            <AuditList filter={{ organizationId: id }} withOrganization={false} first={10} />
          </section>
        </Stack>
        <OrganizationFacts organization={organization} />
      </div>
    </>
  );
}

function OrganizationFacts({ organization }: { organization: OrganizationRowFragment }) {
  const { id, type, memberCount, createdAt } = organization;
  return (
    <Facts
      label="The organisation"
      facts={[
        { label: "Kind", value: organizationTypes[type] },
        { label: "Members", value: memberCount?.toLocaleString("en") ?? null },
        { label: "Since", value: createdAt && <Timestamp value={createdAt} display="exact" /> },
        {
          label: "Id",
          value: (
            <>
              <code>{id}</code> <CopyButton value={id} label="id" />
            </>
          ),
        },
      ]}
    />
  );
}
