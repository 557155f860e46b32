/** The keys and endpoints of an organisation. */
import { expiresSoon, isInactive } from "../../../app/created-keys.ts";
import { formatNumber } from "../../../app/formats.ts";
import { Badge, Code, Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import type {
  OrganizationKeyFragment,
  OrganizationOverviewFragment,
} from "../../../generated/organization.ts";
import { EndpointsTable } from "../../integrations/endpoints/endpoints.table.tsx";
import classes from "../operator.module.css";
import { LastTime } from "./organization.figures.tsx";

interface PartProps {
  overview: OrganizationOverviewFragment;
}

interface SectionProps {
  title: string;
  count: number;
  /** Replaces an empty table. */
  empty: ReactNode;
  action?: ReactNode;
  children: ReactNode;
}

export function PartSection({ title, count, empty, action, children }: SectionProps) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" align="baseline" mb="sm" gap="xs">
        <Title order={2}>
          {title} <span className={classes.quiet}>{formatNumber(count)}</span>
        </Title>
        {action}
      </Group>
      {count === 0 ? <Text c="dimmed">{empty}</Text> : children}
    </section>
  );
}

export function KeysPart({ overview: { apiKeys } }: PartProps) {
  const nowMs = useNow();
  const active = apiKeys.filter((key) => !isInactive(key, nowMs));
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

export function Expiry({ value }: { value: string | null }) {
  const nowMs = useNow();
  if (value === null) return "Never";
  if (Date.parse(value) < nowMs) return <StatusBadge label="Expired" tone="attention" />;
  return (
    <span className={expiresSoon(value, nowMs) ? classes.warning : undefined}>
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
