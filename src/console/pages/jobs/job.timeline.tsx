/** What happened to a job, newest first: what changed, by whom, when and by which request. */
import { useQuery } from "@apollo/client/react";
import { Anchor, Code, Paper, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import { mayVisit } from "../../app/access.ts";
import { useSession } from "../../app/session.ts";
import { useReadAnew } from "../../app/use-read-anew.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { TextLink } from "../../components/links.tsx";
import { LoadMore } from "../../components/pager.tsx";
import { ErrorState, LoadingState } from "../../components/states.tsx";
import { Timestamp } from "../../components/timestamp.tsx";
import { JobHistoryDocument, type JobEventEntryFragment, type JobEventType } from "../../generated/job.ts";
import { ChangeList } from "./change.list.tsx";
import { placeOfField } from "./job.fields.ts";
import classes from "./job.module.css";
import { inWords, type Names } from "./job.words.ts";
import { useActor, type KnownActor } from "./use-actor.ts";

interface JobTimelineProps {
  markingNumber: string;
  /** A new one has a new entry. */
  version: number;
  names: Names;
}

export function JobTimeline({ markingNumber, version, names }: JobTimelineProps) {
  return (
    <Paper component="section" aria-labelledby="job-timeline" className={classes.section}>
      <Title order={2} mb="md" id="job-timeline">
        History
      </Title>
      <Entries markingNumber={markingNumber} version={version} names={names} />
    </Paper>
  );
}

function Entries({ markingNumber, version, names }: JobTimelineProps) {
  const asked = useQuery(JobHistoryDocument, {
    variables: { markingNumber },
    notifyOnNetworkStatusChange: true,
  });
  const { data, error, loading, refetch, fetchMore } = asked;
  const readAnew = useReadAnew(asked);
  const history = data?.job?.history;
  const newest = history?.edges[0]?.node.sequence;
  useEffect(() => {
    if (newest !== undefined && newest < version) readAnew();
  }, [newest, version, readAnew]);
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
          <Entry key={node.id} event={node} names={names} />
        ))}
      </ol>
      <LoadMore
        hasMore={history.pageInfo.hasNextPage}
        isLoading={loading}
        onMore={() => fetchMore({ variables: { after: history.pageInfo.endCursor } })}
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

function Entry({ event, names }: { event: JobEventEntryFragment; names: Names }) {
  const status = event.changes.find(({ field }) => field === "normalizedStatus");
  const actor = useActor()(event.actor);
  return (
    <li className={classes.event} data-kind={status ? "status" : undefined}>
      <Text fw={600}>
        {status
          ? `${TITLES[event.type]}: ${inWords("normalizedStatus", status.to, names)}`
          : TITLES[event.type]}
      </Text>
      <Changes event={event} names={names} />
      <div className={classes.meta}>
        <Timestamp value={event.occurredAt} display="exact" />
        <span>{actor.name}</span>
        {event.requestId !== null && <RequestId id={event.requestId} actor={actor} />}
      </div>
    </li>
  );
}

/** It leads to the request's log where that is one's own, and may be seen. */
function RequestId({ id, actor }: { id: string; actor: KnownActor }) {
  const hasLog = mayVisit(useSession(), "integrations") && actor.isOurKey;
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
const FEW = 4;

function Changes({ event, names }: { event: JobEventEntryFragment; names: Names }) {
  const [isWhole, setWhole] = useState(false);
  const changes = event.changes.toSorted((one, other) => placeOfField(one.field) - placeOfField(other.field));
  const shown = isWhole || changes.length <= FEW + 1 ? changes : changes.slice(0, FEW);
  return (
    <>
      <ChangeList changes={shown} names={names} isFirst={event.type === "JOB_CREATED"} />
      {changes.length > FEW + 1 && (
        <Anchor
          component="button"
          type="button"
          fz="sm"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Show fewer" : `Show ${changes.length - FEW} more`}
        </Anchor>
      )}
    </>
  );
}
