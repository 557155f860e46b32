/** What happened to a job, newest first: what changed, by whom, when and by which request. */
import { useQuery } from "@apollo/client/react";
import { Anchor, Code, Paper, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import { canVisit } from "../../../app/session/access.ts";
import { useSession } from "../../../app/session/session.ts";
import { useRefetch } from "../../../app/api/use-refetch.ts";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { JobHistoryDocument, type JobEventEntryFragment, type JobEventType } from "../../../generated/job.ts";
import { ChangeList } from "../change.list.tsx";
import { fieldIndex } from "../job.fields.ts";
import classes from "./job.module.css";
import { formatValue, type ReferenceLabels } from "../job.labels.ts";
import { useDescribeActor, type ActorDescription } from "./use-actor.ts";

interface JobTimelineProps {
  markingNumber: string;
  /** A new one has a new entry. */
  version: number;
  labels: ReferenceLabels;
}

export function JobTimeline({ markingNumber, version, labels }: JobTimelineProps) {
  return (
    <Paper component="section" aria-labelledby="job-timeline" className={classes.section}>
      <Title order={2} mb="md" id="job-timeline">
        History
      </Title>
      <HistoryList markingNumber={markingNumber} version={version} labels={labels} />
    </Paper>
  );
}

function HistoryList({ markingNumber, version, labels }: JobTimelineProps) {
  const query = useQuery(JobHistoryDocument, {
    variables: { markingNumber },
    notifyOnNetworkStatusChange: true,
  });
  const { data, error, loading, refetch, fetchMore } = query;
  const refetchLatest = useRefetch(query);
  const history = data?.job?.history;
  const newest = history?.edges[0]?.node.sequence;
  useEffect(() => {
    if (newest !== undefined && newest < version) refetchLatest();
  }, [newest, version, refetchLatest]);
  if (!history)
    return loading ? (
      <LoadingState rows={5} label="Loading history" />
    ) : (
      <ErrorState error={error} onRetry={() => void refetch()} />
    );
  return (
    <>
      <ol className={classes.timeline}>
        {history.edges.map(({ node }) => (
          <HistoryEntry key={node.id} event={node} names={labels} />
        ))}
      </ol>
      <LoadMore
        hasMore={history.pageInfo.hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: history.pageInfo.endCursor } })}
      />
    </>
  );
}

const TITLES: Record<JobEventType, string> = {
  JOB_CREATED: "Created",
  JOB_UPDATED: "Changed",
  JOB_STATUS_CHANGED: "Status changed",
  JOB_ASSIGNED: "Assigned",
};

function HistoryEntry({ event, names }: { event: JobEventEntryFragment; names: ReferenceLabels }) {
  const status = event.changes.find(({ field }) => field === "normalizedStatus");
  const actor = useDescribeActor()(event.actor);
  return (
    <li className={classes.event} data-kind={status ? "status" : undefined}>
      <Text fw={600}>
        {status
          ? `${TITLES[event.type]}: ${formatValue("normalizedStatus", status.to, names)}`
          : TITLES[event.type]}
      </Text>
      <EntryChanges event={event} names={names} />
      <div className={classes.meta}>
        <Timestamp value={event.occurredAt} display="exact" />
        <span>{actor.name}</span>
        {event.requestId !== null && <RequestId id={event.requestId} actor={actor} />}
      </div>
    </li>
  );
}

/** It leads to the request's log where that is one's own, and may be seen. */
function RequestId({ id, actor }: { id: string; actor: ActorDescription }) {
  const hasLog = canVisit(useSession(), "integrations") && actor.isOwnKey;
  return (
    <span className={classes.request}>
      {hasLog ? (
        <TextLink to="/integrations/requests" search={{ request_id: id }} fz="inherit" ff="monospace">
          {id}
        </TextLink>
      ) : (
        <Code>{id}</Code>
      )}
      <CopyButton value={id} label="request id" />
    </span>
  );
}

/** So many are shown at once; a job that is created has nearly all its fields changed. */
const COLLAPSED_CHANGE_COUNT = 4;

function EntryChanges({ event, names }: { event: JobEventEntryFragment; names: ReferenceLabels }) {
  const [isExpanded, setExpanded] = useState(false);
  const changes = event.changes.toSorted((one, other) => fieldIndex(one.field) - fieldIndex(other.field));
  const shown =
    isExpanded || changes.length <= COLLAPSED_CHANGE_COUNT + 1
      ? changes
      : changes.slice(0, COLLAPSED_CHANGE_COUNT);
  return (
    <>
      <ChangeList changes={shown} labels={names} isCreation={event.type === "JOB_CREATED"} />
      {changes.length > COLLAPSED_CHANGE_COUNT + 1 && (
        <Anchor
          component="button"
          type="button"
          fz="sm"
          aria-expanded={isExpanded}
          onClick={() => setExpanded(!isExpanded)}
        >
          {isExpanded ? "Show fewer" : `Show ${changes.length - COLLAPSED_CHANGE_COUNT} more`}
        </Anchor>
      )}
    </>
  );
}
