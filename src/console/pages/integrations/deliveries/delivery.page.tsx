/** One delivery: its details, its attempts and its request body. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Code, Stack } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { notify } from "../../../app/interaction/notify.tsx";
import { useDialog, type DialogState } from "../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../../components/status/page-states.tsx";
import { OtherModeHint } from "../../../components/status/other-mode-hint.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import {
  ReplayDeliveryDocument,
  WebhookDeliveryDocument,
  type DeliveryDetailsFragment,
} from "../../../generated/webhook-delivery.ts";
import { AttemptTimeline } from "./attempt.timeline.tsx";
import { BackLink } from "../back-link.tsx";
import { canReplay } from "./delivery-selection.tsx";
import { DeliveryDetails } from "./delivery.details.tsx";
import { eventTypeCode } from "../event-types.ts";
import classes from "../integrations.module.css";
import { deliveryStatusOf } from "./delivery-status.ts";
import { Panel } from "../../../components/layout/panel.tsx";
import { isHidden } from "../polling.ts";
import { formatBody } from "../formatting.ts";

type Delivery = DeliveryDetailsFragment;

const route = getRouteApi("/console/integrations/deliveries/$id");
/** While the delivery is pending. */
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
      <NotFound
        title="Delivery not found"
        action={<ButtonLink to="/integrations/deliveries">All deliveries</ButtonLink>}
      >
        This delivery doesn’t exist or is no longer in the log.
        <OtherModeHint what="delivery" />
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
  return (
    <>
      <PageHeader
        title={eventTypeCode(delivery.eventType)}
        titleAside={<StatusBadge {...deliveryStatusOf(delivery)} />}
        back={backLink}
        actions={
          canReplay(delivery) && (
            <Button
              variant="default"
              leftSection={<IconRepeat size={16} aria-hidden="true" />}
              onClick={() => replaying.open(delivery)}
            >
              Replay{" "}
            </Button>
          )
        }
      />
      <div className={classes.columns}>
        <Stack gap="lg" className={classes.main}>
          <Panel title="Attempts">
            <AttemptTimeline delivery={delivery} />
          </Panel>
          <Panel title="Request">
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
  if (body === null)
    return <>The request body is no longer available, because the event is older than the log.</>;
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
    const { delivery: created } = payloadOrThrow(data?.replayDelivery);
    notify("Replay started.");
    if (!created) return;
    await navigate({ to: "/integrations/deliveries/$id", params: { id: created.id }, ignoreBlocker: true });
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title="Replay this event?"
      action="Replay"
      onConfirm={confirm}
    >
      This creates a new delivery with the same <Code>webhook-id</Code> and body, and up to ten attempts.
      {delivery.status === "PENDING" && " This delivery is still pending and will be discarded."}
    </ConfirmDialog>
  );
}
