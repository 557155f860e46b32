/** How much the API was used, by day and by key. */
import { useQuery } from "@apollo/client/react";
import { SegmentedControl, SimpleGrid, Stack } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { ButtonLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { EmptyState, ErrorState, LoadingCard } from "../../components/states.tsx";
import { useNow } from "../../components/timestamp.tsx";
import { UsageDocument } from "../../generated/usage.ts";
import { Fold } from "./fold.tsx";
import { Panel } from "./panel.tsx";
import { RateLimits } from "./rate-limits.tsx";
import { duration } from "./readable.ts";
import { Figure } from "./figure.tsx";
import { sumByDay, sumByKey, sumOf, type UsageRow } from "./usage-sums.ts";
import { DayTable, KeyUsageTable } from "./usage-tables.tsx";
import { spans } from "./usage.search.ts";

const route = getRouteApi("/console/integrations/usage");
const UsageChart = lazy(async () => ({ default: (await import("./usage.chart.tsx")).UsageChart }));

export function UsagePage() {
  const { days = 30 } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, previousData, error, refetch } = useQuery(UsageDocument, { variables: { days } });
  const rows = (data ?? (error ? undefined : previousData))?.usage;
  const span = (
    <SegmentedControl
      aria-label="How far back"
      value={String(days)}
      onChange={(chosen) => void navigate({ search: { days: Number(chosen) }, replace: true })}
      data={spans.map((each) => ({ value: String(each), label: `${each} days` }))}
    />
  );
  return (
    <>
      <PageHeader
        title="Usage"
        description="Requests in your organisation's name. Days are in UTC."
        actions={span}
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
        title="No request yet"
        action={<ButtonLink to="/integrations/keys">Go to the API keys</ButtonLink>}
      >
        Requests with your keys are counted here by day and by key.
      </EmptyState>
      <RateLimits />
    </>
  );
}

function UsageView({ rows, days }: { rows: readonly UsageRow[]; days: number }) {
  const all = sumOf(rows);
  const byDay = sumByDay(rows, days, useNow());
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label="Requests" value={all.total.toLocaleString()} />
        <Figure
          label="Refused (4xx)"
          value={all.refused.toLocaleString()}
          note={share(all.refused, all.total)}
        />
        <Figure
          label="Failed (5xx)"
          value={all.failed.toLocaleString()}
          note={share(all.failed, all.total)}
        />
        <Figure
          label="Mean duration"
          value={all.meanDurationMs === null ? "–" : duration(all.meanDurationMs)}
        />
      </SimpleGrid>
      <Panel title="By day">
        <Suspense fallback={<LoadingCard height={260} />}>
          <UsageChart days={byDay} />
        </Suspense>
        <Fold title="The same as a table">
          <DayTable days={byDay.toReversed()} />
        </Fold>
      </Panel>
      <Panel title="By key">
        <KeyUsageTable keys={sumByKey(rows)} />
      </Panel>
      <RateLimits />
    </Stack>
  );
}

function share(part: number, whole: number): string | undefined {
  if (whole === 0 || part === 0) return undefined;
  return (part / whole).toLocaleString(undefined, { style: "percent", maximumFractionDigits: 1 });
}
