/** Why jobs wait for somebody: the commonest reasons, as bars that lead to the jobs. */
import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { counted, numberWords } from "../jobs/job.words.ts";
import { commonReasons, type ReasonCount } from "./dashboard.numbers.ts";
import classes from "./dashboard.module.css";
import { Panel } from "./panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

const MOST = 7;

export function ReasonsPanel({ dashboard: { data, error, refetch } }: { dashboard: Dashboard }) {
  const labels = new Map((data?.failureReasons ?? []).map(({ code, label }) => [code, label]));
  return (
    <Panel title="Why jobs need attention" part={data?.reasons} error={error} onRetry={refetch}>
      {({ groups, total }) => {
        const { shown, others } = commonReasons(groups, MOST);
        if (total === 0) return <Text c="dimmed">No job has failed or is on hold.</Text>;
        return (
          <>
            <ul className={classes.list}>
              {shown.map((reason) => (
                <li key={reason.code}>
                  <Bar reason={reason} label={labelOf(reason, labels)} greatest={shown[0]?.count ?? 1} />
                </li>
              ))}
            </ul>
            {others > 0 && (
              <Text fz="sm" c="dimmed" mt="xs">
                {counted(others, "job")} more for other reasons
              </Text>
            )}
          </>
        );
      }}
    </Panel>
  );
}

function labelOf({ code }: ReasonCount, labels: ReadonlyMap<string, string>): string {
  return code === null ? "No reason given" : (labels.get(code) ?? code);
}

function Bar({
  reason: { code, count },
  label,
  greatest,
}: {
  reason: ReasonCount;
  label: string;
  greatest: number;
}) {
  const words = (
    <>
      <span className={classes.line}>
        <span className={classes.reasonName}>{label}</span>
        <span className={classes.number}>{numberWords(count)}</span>
      </span>
      <span className={classes.track} style={{ display: "block" }} aria-hidden="true">
        <span className={classes.bar} style={{ display: "block", width: `${(count / greatest) * 100}%` }} />
      </span>
    </>
  );
  // Jobs without a reason are no filter of the table.
  if (code === null) return <span className={classes.reason}>{words}</span>;
  return (
    <Link to="/jobs" search={{ category: ["ATTENTION"], reason: [code] }} className={classes.reason}>
      {words}
    </Link>
  );
}
