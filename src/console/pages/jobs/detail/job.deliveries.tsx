/** The webhook deliveries of a job's events. */
import { formatCount } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { Group, Paper, Title } from "@mantine/core";
import { useEffect } from "react";
import { useRefetch } from "../../../app/api/use-refetch.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { TextLink } from "../../../components/layout/links.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyNote } from "../../../components/status/empty-note.tsx";
import { ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { JobDeliveriesDocument, type JobDeliveriesQuery } from "../../../generated/job.ts";
import { eventTypeCode } from "../../integrations/event-types.ts";
import { DELIVERY_STATUS } from "../../integrations/deliveries/delivery-status.ts";
import classes from "./job.module.css";

type Delivery = NonNullable<JobDeliveriesQuery["webhookDeliveries"]>["edges"][number]["node"];

/** `changes` increases with each change of the job and triggers a refetch. */
export function JobDeliveries({ markingNumber, changes }: { markingNumber: string; changes: number }) {
  return (
    <Paper component="section" aria-labelledby="job-deliveries" className={classes.section}>
      <Title order={2} mb="md" id="job-deliveries">
        Webhook deliveries
      </Title>
      <DeliveryList markingNumber={markingNumber} changes={changes} />
    </Paper>
  );
}

function DeliveryList({ markingNumber, changes }: { markingNumber: string; changes: number }) {
  const query = useQuery(JobDeliveriesDocument, {
    variables: { markingNumber },
    notifyOnNetworkStatusChange: true,
  });
  const { data, error, loading, refetch, fetchMore } = query;
  const refetchLatest = useRefetch(query);
  useEffect(() => {
    if (changes > 0) refetchLatest();
  }, [changes, refetchLatest]);
  const list = data?.webhookDeliveries;
  if (!list)
    return loading ? (
      <LoadingState rows={3} label="Loading deliveries" />
    ) : (
      <ErrorState error={error} onRetry={() => void refetch()} />
    );
  if (list.edges.length === 0)
    return (
      <EmptyNote guide={guide.createEndpoint}>
        No deliveries of this job in the log. <TextLink to="/integrations/endpoints">Endpoints</TextLink>{" "}
        receive every change from the time they are created.
      </EmptyNote>
    );
  return (
    <>
      <ul className={classes.deliveries}>
        {list.edges.map(({ node }) => (
          <DeliveryRow key={node.id} delivery={node} />
        ))}
      </ul>
      <LoadMore
        hasMore={list.pageInfo.hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: list.pageInfo.endCursor } })}
      />
    </>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { id, eventType, status, attemptCount, createdAt, endpoint } = delivery;
  return (
    <li className={classes.delivery}>
      <Group justify="space-between" gap="xs">
        <TextLink to="/integrations/deliveries/$id" params={{ id }} fw={600} fz="sm">
          {eventTypeCode(eventType)}
        </TextLink>
        <StatusBadge {...DELIVERY_STATUS[status]} />
      </Group>
      <div className={classes.meta}>
        <span className={classes.url}>{endpoint?.url ?? "Deleted endpoint"}</span>
        <span>
          <Timestamp value={createdAt} />, {formatCount(attemptCount, "attempt")}
        </span>
      </div>
    </li>
  );
}
