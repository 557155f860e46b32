/** API usage by day and by key. */
import { formatNumber, formatPercent } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { SegmentedControl, SimpleGrid, Stack, Paper, Text } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { type BarSeries, DayBars } from "../../../components/charts/day-bars.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { EmptyState, ErrorState, LoadingCard } from "../../../components/status/page-states.tsx";
import { useNow } from "../../../app/clock.ts";
import { UsageDocument } from "../../../generated/usage.ts";
import { Collapsible } from "../../../components/display/collapsible.tsx";
import { Panel } from "../../../components/layout/panel.tsx";
import { RateLimits } from "./rate-limits.tsx";
import { formatDuration } from "../formatting.ts";
import { usageByDay, usageByKey, aggregateUsage, type UsageRow } from "./usage.aggregates.ts";
import { DayUsageTable, KeyUsageTable } from "./usage.tables.tsx";
import { DAY_SPANS } from "./usage.search.ts";

const route = getRouteApi("/console/integrations/usage");
const usageSeries: readonly BarSeries[] = [
  { label: "Succeeded", color: "spruce" },
  { label: "Rejected (4xx)", color: "amber", isOutlined: true },
  { label: "Failed (5xx)", color: "red" },
];

export function UsagePage() {
  const { days = 30 } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, previousData, error, refetch } = useQuery(UsageDocument, { variables: { days } });
  const rows = (data ?? (error ? undefined : previousData))?.usage;
  const spanControl = (
    <SegmentedControl
      aria-label="Period"
      value={String(days)}
      onChange={(value) => void navigate({ search: { days: Number(value) }, replace: true })}
      data={DAY_SPANS.map((each) => ({ value: String(each), label: `${each} days` }))}
    />
  );
  return (
    <>
      <PageHeader
        title="Usage"
        description="API requests made with your organisation’s keys. Days are in UTC."
        actions={spanControl}
      />
      {error && !rows && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !rows && <LoadingCard height={260} />}
      {rows && rows.length === 0 && <NoUsage />}
      {rows && rows.length > 0 && <UsageView rows={rows} days={days} />}
    </>
  );
}

function NoUsage() {
  return (
    <>
      <EmptyState
        icon={IconChartBar}
        title="No requests yet"
        action={<ButtonLink to="/integrations/keys">Go to API keys</ButtonLink>}
      >
        Requests made with your keys are counted here by day and by key.
      </EmptyState>
      <RateLimits />
    </>
  );
}

function UsageView({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  const totals = aggregateUsage(rows);
  const byDay = usageByDay(rows, days, useNow());
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Stat label="Requests" value={formatNumber(totals.total)} />
        <Stat
          label="Rejected (4xx)"
          value={formatNumber(totals.refused)}
          note={percentOf(totals.refused, totals.total)}
        />
        <Stat
          label="Failed (5xx)"
          value={formatNumber(totals.failed)}
          note={percentOf(totals.failed, totals.total)}
        />
        <Stat
          label="Mean duration"
          value={totals.meanDurationMs === null ? "–" : formatDuration(totals.meanDurationMs)}
        />
      </SimpleGrid>
      <Panel title="By day">
        <DayBars
          isStacked
          label="Requests per day"
          series={usageSeries}
          days={byDay.map(({ day, succeeded, refused, failed }) => ({
            day,
            values: [succeeded, refused, failed],
          }))}
          today={byDay.at(-1)?.day}
        />
        <Collapsible title="View as table">
          <DayUsageTable days={byDay.toReversed()} />
        </Collapsible>
      </Panel>
      <Panel title="By key">
        <KeyUsageTable keys={usageByKey(rows)} />
      </Panel>
      <RateLimits />
    </Stack>
  );
}

function percentOf(part: number, whole: number): string | undefined {
  if (whole === 0 || part === 0) return undefined;
  return formatPercent(part / whole);
}

interface StatProps {
  label: string;
  value: string;
  note?: string | undefined;
}

function Stat({ label, value, note }: StatProps) {
  return (
    <Paper p="md">
      <Text c="dimmed" fz="sm">
        {label}
      </Text>
      <Text fz={24} fw={650} lh={1.3} style={{ fontVariantNumeric: "tabular-nums" }}>
        {value}
      </Text>
      {note !== undefined && (
        <Text c="dimmed" fz="sm">
          {note}
        </Text>
      )}
    </Paper>
  );
}
