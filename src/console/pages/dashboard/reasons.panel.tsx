/** The most common reasons why jobs need attention, as bars that link to the jobs. */
import { formatCount, formatNumber } from "../../app/formats.ts";
import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { guide } from "../../app/guide/guide-pages.ts";
import { EmptyNote } from "../../components/status/empty-note.tsx";
import { commonReasons, type ReasonCount } from "./dashboard.metrics.ts";
import classes from "./dashboard.module.css";
import { DashboardPanel } from "./dashboard.panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

const MAX_REASONS = 7;

export function ReasonsPanel({ dashboard: { data, error, refetch } }: { dashboard: Dashboard }) {
  const labels = new Map((data?.failureReasons ?? []).map(({ code, label }) => [code, label]));
  return (
    <DashboardPanel title="Why jobs need attention" part={data?.reasons} error={error} onRetry={refetch}>
      {({ groups, total }) => {
        const { shown, others } = commonReasons(groups, MAX_REASONS);
        if (total === 0) return <EmptyNote guide={guide.dashboard}>No jobs need attention.</EmptyNote>;
        return (
          <>
            <ul className={classes.list}>
              {shown.map((reason) => (
                <li key={reason.code}>
                  <ReasonBar reason={reason} label={reasonLabel(reason, labels)} max={shown[0]?.count ?? 1} />
                </li>
              ))}
            </ul>
            {others > 0 && (
              <Text fz="sm" c="dimmed" mt="xs">
                {formatCount(others, "job")} for other reasons
              </Text>
            )}
          </>
        );
      }}
    </DashboardPanel>
  );
}

function reasonLabel({ code }: ReasonCount, labels: ReadonlyMap<string, string>): string {
  return code === null ? "No reason given" : (labels.get(code) ?? code);
}

function ReasonBar({
  reason: { code, count },
  label,
  max,
}: {
  reason: ReasonCount;
  label: string;
  max: number;
}) {
  const content = (
    <>
      <span className={classes.line}>
        <span className={classes.reasonName}>{label}</span>
        <span className={classes.number}>{formatNumber(count)}</span>
      </span>
      <span className={classes.track} style={{ display: "block" }} aria-hidden="true">
        <span className={classes.bar} style={{ display: "block", width: `${(count / max) * 100}%` }} />
      </span>
    </>
  );
  // The jobs page has no filter for a missing reason.
  if (code === null) return <span className={classes.reason}>{content}</span>;
  return (
    <Link to="/jobs" search={{ category: ["ATTENTION"], reason: [code] }} className={classes.reason}>
      {content}
    </Link>
  );
}
