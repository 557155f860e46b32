/** One delivery: what it tells, and each request that was made of it. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Code, Stack } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { notify } from "../../../app/interaction/notify.ts";
import { useDialog, type DialogState } from "../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import {
  ReplayDeliveryDocument,
  WebhookDeliveryDocument,
  type DeliveryDetailsFragment,
} from "../../../generated/webhook-delivery.ts";
import { AttemptTimeline } from "./attempt.timeline.tsx";
import { BackLink } from "../back-link.tsx";
import { DeliveryDetails } from "./delivery.details.tsx";
import { eventTypeCode } from "../event-types.ts";
import classes from "../integrations.module.css";
import { deliveryStatusOf } from "./delivery-status.ts";
import { Panel } from "../../../components/layout/panel.tsx";
import { isHidden } from "../polling.ts";
import { formatBody } from "../formatting.ts";

type Delivery = DeliveryDetailsFragment;

const route = getRouteApi("/console/integrations/deliveries/$id");
/** Of a delivery that is not over yet. */
const POLL_INTERVAL_MS = 5_000;

const backLink = <BackLink to="/integrations/deliveries">All deliveries</BackLink>;

export function DeliveryPage() {
  const { id } = route.useParams();
  const { data, error, refetch, startPolling, stopPolling } = useQuery(WebhookDeliveryDocument, {
    variables: { id },
    skipPollAttempt: isHidden,
  });
  const delivery = data?.node && "attemptCount" in data.node ? data.node : null;
  const isPending = delivery?.status === "PENDING";
  useEffect(() => {
    if (isPending) startPolling(POLL_INTERVAL_MS);
    return stopPolling;
  }, [isPending, startPolling, stopPolling]);
  if (delivery) return <DeliveryView delivery={delivery} />;
  if (data) {
    return (
      <NotFound action={<ButtonLink to="/integrations/deliveries">All deliveries</ButtonLink>}>
        There is no such delivery, or the log no longer has it.
      </NotFound>
    );
  }
  return (
    <>
      <PageHeader title="Delivery" back={backLink} />
      {error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState label="Loading the delivery" />
      )}
    </>
  );
}

function DeliveryView({ delivery }: { delivery: Delivery }) {
  const replaying = useDialog<Delivery>();
  // A test event is not replayed: another is sent. Nothing goes to an endpoint that is deleted.
  const canReplay = delivery.origin !== "TEST" && delivery.endpoint !== null;
  return (
    <>
      <PageHeader
        title={eventTypeCode(delivery.eventType)}
        titleAside={<StatusBadge {...deliveryStatusOf(delivery)} />}
        back={backLink}
        actions={
          canReplay && (
            <Button
              variant="default"
              leftSection={<IconRepeat size={16} aria-hidden="true" />}
              onClick={() => replaying.open(delivery)}
            >
              Send again
            </Button>
          )
        }
      />
      <div className={classes.columns}>
        <Stack gap="lg" className={classes.main}>
          <Panel title="Attempts">
            <AttemptTimeline delivery={delivery} />
          </Panel>
          <Panel title="What is sent">
            <RequestBody body={delivery.requestBody} />
          </Panel>
        </Stack>
        <Panel title="Delivery">
          <DeliveryDetails delivery={delivery} />
        </Panel>
      </div>
      <ReplayDeliveryDialog dialog={replaying} />
    </>
  );
}

function RequestBody({ body }: { body: string | null }) {
  if (body === null) return <>The event is older than the log, so its body cannot be shown any more.</>;
  return <CodeBlock code={formatBody(body)} label="request body" />;
}

function ReplayDeliveryDialog({
  dialog: { subject: delivery, isOpen, close },
}: {
  dialog: DialogState<Delivery>;
}) {
  const [replay] = useMutation(ReplayDeliveryDocument);
  const navigate = useNavigate();
  if (!delivery) return null;
  const confirm = async (): Promise<void> => {
    const { data } = await replay({ variables: { id: delivery.id } });
    const { delivery: made } = payloadOrThrow(data?.replayDelivery);
    notify("The event is sent again.");
    if (!made) return;
    await navigate({ to: "/integrations/deliveries/$id", params: { id: made.id }, ignoreBlocker: true });
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title="Send this event again?"
      action="Send again"
      onConfirm={confirm}
    >
      It becomes a new delivery with the same <Code>webhook-id</Code> and body, and ten attempts of its own.
      {delivery.status === "PENDING" && " This one, which still waits, is discarded for it."}
    </ConfirmDialog>
  );
}
