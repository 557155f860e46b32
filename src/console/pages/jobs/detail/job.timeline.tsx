/** The history of a job, newest first: what changed, who changed it, when and with which request. */
import { useQuery } from "@apollo/client/react";
import { Anchor, Code, Paper, Text, Title } from "@mantine/core";
import { useEffect, useState, useMemo } from "react";
import { canVisit } from "../../../app/session/access.ts";
import { useSession } from "../../../app/session/session.ts";
import { useRefetch } from "../../../app/api/use-refetch.ts";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import {
  JobHistoryDocument,
  type JobEventEntryFragment,
  type JobEventType,
  ActorNamesDocument,
} from "../../../generated/job.ts";
import { ChangeList } from "../change.list.tsx";
import { fieldIndex } from "../job.fields.ts";
import classes from "./job.module.css";
import { formatValue, type ReferenceLabels } from "../job.labels.ts";

interface JobTimelineProps {
  markingNumber: string;
  /** Each version has an entry in the history. */
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
          <HistoryEntry key={node.id} event={node} labels={labels} />
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
  JOB_UPDATED: "Updated",
  JOB_STATUS_CHANGED: "Status changed",
  JOB_ASSIGNED: "Assigned",
  JOB_UNASSIGNED: "Unassigned",
  JOB_DELETED: "Deleted",
};

function HistoryEntry({ event, labels }: { event: JobEventEntryFragment; labels: ReferenceLabels }) {
  const status = event.changes.find(({ field }) => field === "normalizedStatus");
  const actor = useDescribeActor()(event.actor);
  return (
    <li className={classes.event} data-kind={status ? "status" : undefined}>
      <Text fw={600}>
        {status
          ? `${TITLES[event.type]}: ${formatValue("normalizedStatus", status.to, labels)}`
          : TITLES[event.type]}
      </Text>
      <EntryChanges event={event} labels={labels} />
      <div className={classes.meta}>
        <Timestamp value={event.occurredAt} display="exact" />
        <span>{actor.name}</span>
        {event.requestId !== null && <RequestId id={event.requestId} actor={actor} />}
      </div>
    </li>
  );
}

/** Links to the request log if the request was made with a key of the user's organisation. */
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
      <CopyButton value={id} label="request ID" />
    </span>
  );
}

/** Changes shown before "Show more". Creating a job changes nearly every field. */
const COLLAPSED_CHANGE_COUNT = 4;

function EntryChanges({ event, labels }: { event: JobEventEntryFragment; labels: ReferenceLabels }) {
  const [isExpanded, setExpanded] = useState(false);
  const changes = event.changes.toSorted((one, other) => fieldIndex(one.field) - fieldIndex(other.field));
  const shown =
    isExpanded || changes.length <= COLLAPSED_CHANGE_COUNT + 1
      ? changes
      : changes.slice(0, COLLAPSED_CHANGE_COUNT);
  return (
    <>
      <ChangeList changes={shown} labels={labels} isCreation={event.type === "JOB_CREATED"} />
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

type Actor = JobEventEntryFragment["actor"];

interface ActorDescription {
  name: string;
  /** True for a key of the user's organisation, whose requests are in the request log. */
  isOwnKey: boolean;
}

/** The name of the actor of a change, if the user may know it. */
function useDescribeActor(): (actor: Actor) => ActorDescription {
  const { user, scopes } = useSession();
  const { data } = useQuery(ActorNamesDocument, {
    variables: { mayManage: scopes.includes("webhooks:manage") },
    fetchPolicy: "cache-first",
    errorPolicy: "all",
  });
  return useMemo(() => {
    const namesById = new Map(
      [...(data?.members ?? []), ...(data?.apiKeys ?? [])].map(({ id, name }) => [id, name]),
    );
    return (actor) => ({
      name: actorLabel(actor, namesById, user.id),
      isOwnKey: actor.type === "KEY" && namesById.has(actor.id ?? ""),
    });
  }, [data, user.id]);
}

function actorLabel({ type, id }: Actor, namesById: ReadonlyMap<string, string>, ownId: string): string {
  if (type === "SYSTEM") return "Waymark";
  const name = namesById.get(id ?? "");
  if (type === "KEY") return name === undefined ? "an API key" : `key “${name}”`;
  return id === ownId ? "you" : (name ?? "another organisation or a former member");
}
