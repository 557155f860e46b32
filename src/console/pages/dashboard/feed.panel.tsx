/** The most recent changes, updated live. */
import { Text } from "@mantine/core";
import { TextLink } from "../../components/layout/links.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { fieldLabel } from "../jobs/job.fields.ts";
import { formatValue, type ReferenceLabels } from "../jobs/job.labels.ts";
import { useReferenceData } from "../jobs/use-reference-data.ts";
import classes from "./dashboard.module.css";
import { JobLink } from "./due.panels.tsx";
import { buildFeed, type FeedEntry } from "./feed.ts";
import { DashboardPanel } from "./dashboard.panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

const seeAllLink = (
  <TextLink to="/jobs" search={{ sort: "-updated_at" }} fz="sm">
    See all
  </TextLink>
);

export function FeedPanel({ dashboard: { data, error, refetch, changes } }: { dashboard: Dashboard }) {
  const { labels } = useReferenceData();
  return (
    <DashboardPanel
      title="Recent changes"
      part={data?.recent}
      error={error}
      onRetry={refetch}
      action={seeAllLink}
    >
      {({ nodes }) => (
        <ul className={classes.list}>
          {buildFeed(changes, nodes).map((entry) => (
            <FeedRow key={entry.key} entry={entry} labels={labels} />
          ))}
        </ul>
      )}
    </DashboardPanel>
  );
}

function FeedRow({ entry, labels }: { entry: FeedEntry; labels: ReferenceLabels }) {
  return (
    <li className={classes.row}>
      <div className={classes.line}>
        <JobLink markingNumber={entry.job.markingNumber} />
        <span className={classes.small}>
          <Timestamp value={entry.at} />
        </span>
      </div>
      <Text className={classes.small}>{describeEntry(entry, labels)}</Text>
    </li>
  );
}

function describeEntry({ change, job }: FeedEntry, labels: ReferenceLabels): string {
  if (!change) return `Now ${job.status.label}`;
  const status = change.changes.find(({ field }) => field === "normalizedStatus");
  if (change.type === "JOB_CREATED") return `Created, ${job.status.label}`;
  if (status)
    return `${formatValue("normalizedStatus", status.from, labels)} → ${formatValue("normalizedStatus", status.to, labels)}`;
  const fields = change.changes.map(({ field }) => fieldLabel(field));
  return `${fields.slice(0, 3).join(", ")}${fields.length > 3 ? ` and ${fields.length - 3} more` : ""} changed`;
}
