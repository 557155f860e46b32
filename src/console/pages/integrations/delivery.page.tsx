/** One delivery: what it tells, and each request that was made of it. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Code, Stack } from "@mantine/core";
import { IconRepeat } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { tell } from "../../app/tell.ts";
import { useDialog, type DialogState } from "../../app/use-dialog.ts";
import { accepted } from "../../app/user-errors.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { ButtonLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import {
  ReplayDeliveryDocument,
  WebhookDeliveryDocument,
  type DeliveryDetailsFragment,
} from "../../generated/webhook-delivery.ts";
import { AttemptTimeline } from "./attempt-timeline.tsx";
import { BackLink } from "./back-link.tsx";
import { DeliveryFacts } from "./delivery-facts.tsx";
import { eventTypeCode } from "./event-types.ts";
import classes from "./integrations.module.css";
import { standingOf } from "./outcomes.ts";
import { Panel } from "./panel.tsx";
import { isHidden } from "./polling.ts";
import { prettyBody } from "./readable.ts";

type Delivery = DeliveryDetailsFragment;

const route = getRouteApi("/console/integrations/deliveries/$id");
/** Of a delivery that is not over yet. */
const NEWS_EVERY_MS = 5_000;

const back = <BackLink to="/integrations/deliveries">All deliveries</BackLink>;

export function DeliveryPage() {
  const { id } = route.useParams();
  const { data, error, refetch, startPolling, stopPolling } = useQuery(WebhookDeliveryDocument, {
    variables: { id },
    skipPollAttempt: isHidden,
  });
  const delivery = data?.node && "attemptCount" in data.node ? data.node : null;
  const isPending = delivery?.status === "PENDING";
  useEffect(() => {
    if (isPending) startPolling(NEWS_EVERY_MS);
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
      <PageHeader title="Delivery" back={back} />
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
        beside={<StatusBadge {...standingOf(delivery)} />}
        back={back}
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
          <DeliveryFacts delivery={delivery} />
        </Panel>
      </div>
      <ReplayDialog dialog={replaying} />
    </>
  );
}

function RequestBody({ body }: { body: string | null }) {
  if (body === null) return <>The event is older than the log, so its body cannot be shown any more.</>;
  return <CodeBlock code={prettyBody(body)} label="request body" />;
}

function ReplayDialog({ dialog: { subject: delivery, isOpen, close } }: { dialog: DialogState<Delivery> }) {
  const [replay] = useMutation(ReplayDeliveryDocument);
  const navigate = useNavigate();
  if (!delivery) return null;
  const confirm = async (): Promise<void> => {
    const { data } = await replay({ variables: { id: delivery.id } });
    const { delivery: made } = accepted(data?.replayDelivery);
    tell("The event is sent again.");
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
