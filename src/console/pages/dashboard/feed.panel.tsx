/** The latest changes, as they happen. */
import { Text } from "@mantine/core";
import { TextLink } from "../../components/links.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { labelOfField } from "../jobs/job.fields.ts";
import { inWords, type Names } from "../jobs/job.words.ts";
import { useChoices } from "../jobs/use-choices.ts";
import classes from "./dashboard.module.css";
import { JobLink } from "./due.panels.tsx";
import { feedOf, type FeedEntry } from "./feed.ts";
import { Panel } from "./panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

const all = (
  <TextLink to="/jobs" search={{ sort: "-updated_at" }} fz="sm">
    See all
  </TextLink>
);

export function FeedPanel({ dashboard: { data, error, refetch, changes } }: { dashboard: Dashboard }) {
  const { names } = useChoices();
  return (
    <Panel title="Latest changes" part={data?.recent} error={error} onRetry={refetch} action={all}>
      {({ nodes }) => (
        <ul className={classes.list}>
          {feedOf(changes, nodes).map((entry) => (
            <Entry key={entry.key} entry={entry} names={names} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Entry({ entry, names }: { entry: FeedEntry; names: Names }) {
  return (
    <li className={classes.row}>
      <div className={classes.line}>
        <JobLink markingNumber={entry.job.markingNumber} />
        <span className={classes.small}>
          <Timestamp value={entry.at} />
        </span>
      </div>
      <Text className={classes.small}>{sentence(entry, names)}</Text>
    </li>
  );
}

function sentence({ change, job }: FeedEntry, names: Names): string {
  if (!change) return `Now ${job.status.label}`;
  const status = change.changes.find(({ field }) => field === "normalizedStatus");
  if (change.type === "JOB_CREATED") return `Created, ${job.status.label}`;
  if (status)
    return `${inWords("normalizedStatus", status.from, names)} → ${inWords("normalizedStatus", status.to, names)}`;
  const fields = change.changes.map(({ field }) => labelOfField(field));
  return `${fields.slice(0, 3).join(", ")}${fields.length > 3 ? ` and ${fields.length - 3} more` : ""} changed`;
}
