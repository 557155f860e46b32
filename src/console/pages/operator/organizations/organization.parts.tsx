/** The members, keys and endpoints of an organisation. */
import { Badge, Code, Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { roles } from "../../../app/session/roles.ts";
import { Timestamp, useNow } from "../../../components/display/timestamp.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import type { InvitationRowFragment, MemberRowFragment } from "../../../generated/members.ts";
import type {
  OrganizationKeyFragment,
  OrganizationOverviewFragment,
} from "../../../generated/organization.ts";
import { EndpointsTable } from "../../integrations/endpoints/endpoints.table.tsx";
import classes from "../operator.module.css";
import { LastTime } from "./organization.figures.tsx";

/** The "needs attention" list has the same limit. */
const EXPIRES_SOON_MS = 14 * 86_400_000;

interface PartProps {
  overview: OrganizationOverviewFragment;
}

interface SectionProps {
  title: string;
  count: number;
  /** Shown instead of the table if there are none. */
  empty: ReactNode;
  action?: ReactNode;
  children: ReactNode;
}

function PartSection({ title, count, empty, action, children }: SectionProps) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" align="baseline" mb="sm" gap="xs">
        <Title order={2}>
          {title} <span className={classes.quiet}>{count.toLocaleString("en")}</span>
        </Title>
        {action}
      </Group>
      {count === 0 ? <Text c="dimmed">{empty}</Text> : children}
    </section>
  );
}

export function MembersPart({ overview: { members, invitations } }: PartProps) {
  return (
    <PartSection
      title="Members"
      count={members.length}
      empty="No one has registered yet. Account requests show whether the registration link was used."
      action={
        <TextLink to="/operator/requests" fz="sm">
          Account requests
        </TextLink>
      }
    >
      <Stack gap="md">
        <DataTable caption="Members" columns={memberColumns} rows={members} rowKey={({ id }) => id} />
        {invitations.length > 0 && (
          <DataTable
            caption="Invitations"
            columns={invitationColumns}
            rows={invitations}
            rowKey={({ id }) => id}
          />
        )}
      </Stack>
    </PartSection>
  );
}

const memberColumns: readonly Column<MemberRowFragment>[] = [
  {
    id: "name",
    header: "Name",
    isTitle: true,
    cell: ({ name, email }) => (
      <div>
        {name}
        <Text fz="sm" c="dimmed" fw={400} className={classes.anywhere}>
          {email}
        </Text>
      </div>
    ),
  },
  { id: "role", header: "Role", cell: ({ role }) => roles[role].label },
  {
    id: "two-factor",
    header: "Two-factor",
    cell: ({ hasTwoFactor }) => (
      <StatusBadge label={hasTwoFactor ? "On" : "Off"} tone={hasTwoFactor ? "success" : "muted"} />
    ),
  },
  { id: "seen", header: "Last seen", cell: ({ lastSeenAt }) => <LastTime value={lastSeenAt} /> },
];

const invitationColumns: readonly Column<InvitationRowFragment>[] = [
  { id: "email", header: "Invited", isTitle: true, cell: ({ email }) => email },
  { id: "role", header: "Role", cell: ({ role }) => roles[role].label },
  { id: "by", header: "Invited by", cell: ({ invitedBy }) => invitedBy },
  { id: "expires", header: "Link expires", cell: ({ expiresAt }) => <Expiry value={expiresAt} /> },
];

export function KeysPart({ overview: { apiKeys } }: PartProps) {
  const nowMs = useNow();
  const active = apiKeys.filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > nowMs),
  );
  return (
    <PartSection
      title="API keys"
      count={active.length}
      empty="No active keys, live or test."
      action={
        <TextLink to="/integrations/keys" fz="sm">
          Keys of all organisations
        </TextLink>
      }
    >
      <DataTable caption="API keys" columns={keyColumns} rows={active} rowKey={({ id }) => id} />
    </PartSection>
  );
}

const keyColumns: readonly Column<OrganizationKeyFragment>[] = [
  {
    id: "name",
    header: "Name",
    isTitle: true,
    cell: ({ name, mode, prefix }) => (
      <Stack gap={2}>
        <Group gap="xs">
          <span className={classes.anywhere}>{name}</span>
          {mode === "TEST" && <Badge color="gray">Test</Badge>}
        </Group>
        <Code className={classes.prefix}>{prefix}…</Code>
      </Stack>
    ),
  },
  { id: "used", header: "Last used", cell: ({ lastUsedAt }) => <LastTime value={lastUsedAt} /> },
  { id: "expires", header: "Expires", cell: ({ expiresAt }) => <Expiry value={expiresAt} /> },
];

function Expiry({ value }: { value: string | null }) {
  const nowMs = useNow();
  if (value === null) return "Never";
  const leftMs = Date.parse(value) - nowMs;
  if (leftMs < 0) return <StatusBadge label="Expired" tone="attention" />;
  return (
    <span className={leftMs < EXPIRES_SOON_MS ? classes.warning : undefined}>
      <Timestamp value={value} />
    </span>
  );
}

export function EndpointsPart({ overview: { webhookEndpoints } }: PartProps) {
  return (
    <PartSection
      title="Webhook endpoints"
      count={webhookEndpoints.length}
      empty="No endpoints. The organisation gets no webhooks."
      action={
        <TextLink to="/operator/endpoints" fz="sm">
          Failing endpoints
        </TextLink>
      }
    >
      <EndpointsTable endpoints={webhookEndpoints} showOrganization={false} />
    </PartSection>
  );
}
