/** One organisation with all that an operator needs to answer its questions. */
import { formatCount, formatNumber } from "../../../app/formats.ts";
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
import {
  OrganizationPageDocument,
  type OrganizationOverviewFragment,
} from "../../../generated/organization.ts";
import { organizationTypeLabels } from "../account-requests/account-request.labels.ts";
import { AuditList } from "../../audit/audit.list.tsx";
import classes from "../operator.module.css";
import { Alert } from "../../../components/status/alert.tsx";
import { JobTiles, LastTime, RequestTiles, totalOf } from "./organization.figures.tsx";
import { MembersPart } from "./organization.members.tsx";
import { EndpointsPart, KeysPart } from "./organization.parts.tsx";
import { OrganizationStatusBadge } from "./organizations.page.tsx";
import { ImportSwitch } from "./import.switch.tsx";
import { RenameAction } from "./rename.action.tsx";
import { OrganizationStorage } from "./organization.storage.tsx";
import { SuspensionAction } from "./suspension.action.tsx";
import { ViewAction } from "./view.action.tsx";

const route = getRouteApi("/console/operator/organizations/$id");

const back = <TextLink to="/operator/organizations">Organisations</TextLink>;

export function OrganizationPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(OrganizationPageDocument, { variables: { id } });
  if (data?.organizationOverview)
    return <OrganizationView overview={data.organizationOverview} onChange={refetch} />;
  if (data && !error)
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

interface OrganizationViewProps {
  overview: OrganizationOverviewFragment;
  onChange: () => Promise<unknown>;
}

function OrganizationView({ overview, onChange }: OrganizationViewProps) {
  const { organization } = overview;
  const { id, name, suspendedAt } = organization;
  return (
    <>
      <PageHeader
        title={name}
        titleAside={<OrganizationStatusBadge organization={organization} />}
        back={back}
        actions={
          <>
            <ViewAction organization={organization} />
            <RenameAction organization={organization} />
            <SuspensionAction organization={organization} />
          </>
        }
      />
      <div className={classes.columns}>
        <Stack gap="lg">
          {suspendedAt !== null && (
            <Alert color="red" icon={<IconBan aria-hidden="true" />} title="Suspended" guide="screen">
              Since <Timestamp value={suspendedAt} display="exact" />: API keys are rejected, members can’t
              sign in, and webhooks are not delivered. Events are kept for the retention period.
            </Alert>
          )}
          <JobTiles overview={overview} />
          <RequestTiles overview={overview} />
          <MembersPart overview={overview} onChange={onChange} />
          <KeysPart overview={overview} />
          <EndpointsPart overview={overview} />
          <section aria-labelledby="audit">
            <Title order={2} id="audit" mb="sm">
              Activity
            </Title>
            <AuditList filter={{ organizationId: id }} showOrganization={false} first={10} />
          </section>
        </Stack>
        <div className={classes.aside}>
          <Stack gap="lg">
            <OrganizationDetails overview={overview} />
            <OrganizationLimits overview={overview} />
            <OrganizationStorage id={id} />
          </Stack>
        </div>
      </div>
    </>
  );
}

interface DetailsProps {
  overview: OrganizationOverviewFragment;
}

function OrganizationDetails({ overview: { organization } }: DetailsProps) {
  const { id, type, createdAt, activity } = organization;
  return (
    <DescriptionCard
      label="Organisation details"
      items={[
        { label: "Type", value: organizationTypeLabels[type] },
        { label: "Last API request", value: <LastTime value={activity?.lastRequestAt} /> },
        { label: "Last use of the console", value: <LastTime value={activity?.lastSeenAt} /> },
        ...(type === "AGENT"
          ? [{ label: "Import of jobs", value: <ImportSwitch organization={organization} /> }]
          : []),
        { label: "Created", value: createdAt && <Timestamp value={createdAt} display="exact" /> },
        {
          label: "ID",
          value: (
            <>
              <code className={classes.anywhere}>{id}</code> <CopyButton value={id} label="ID" />
            </>
          ),
        },
      ]}
    />
  );
}

const limitNames = {
  API_KEYS: "Active API keys",
  WEBHOOK_ENDPOINTS: "Webhook endpoints",
  INVITATIONS: "Pending invitations",
} as const;

function OrganizationLimits({ overview: { limits, rateLimits, requestsInWeek } }: DetailsProps) {
  return (
    <DescriptionCard
      label="Limits"
      items={[
        ...limits.map(({ name, used, max }) => ({
          label: limitNames[name],
          value: (
            <span className={used >= max ? classes.warning : undefined}>
              {formatNumber(used)} of {formatNumber(max)}
            </span>
          ),
        })),
        { label: "Rate limits of all keys together", value: limitsText(rateLimits) },
        {
          label: "Rejected by a limit (429) in 7 days",
          value: `${formatNumber(requestsInWeek.limited)} of ${formatCount(totalOf(requestsInWeek), "request")}`,
        },
      ]}
    />
  );
}

const limitLabels = { READ: "reads", WRITE: "changes", BATCH: "batches" } as const;

function limitsText(limits: OrganizationOverviewFragment["rateLimits"]): string {
  if (limits.length === 0) return "Off";
  const each = limits.map(
    ({ class: kind, perSecond, organization }) =>
      `${formatNumber(organization?.perSecond ?? perSecond)} ${limitLabels[kind]}`,
  );
  return `${each.join(", ")} per second`;
}
