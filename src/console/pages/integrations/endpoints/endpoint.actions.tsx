/** The actions on an endpoint, in the heading of its page. */
import { useMutation } from "@apollo/client/react";
import { ActionIcon, Button, Menu, Text } from "@mantine/core";
import { IconDots, IconRepeat, IconSend, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { notify } from "../../../app/interaction/notify.tsx";
import { useDialog, type DialogState } from "../../../app/interaction/use-dialog.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import {
  DeleteWebhookEndpointDocument,
  PauseWebhookEndpointDocument,
  type EndpointDetailsFragment,
} from "../../../generated/webhook-endpoint.ts";
import { pendingEventsText } from "./endpoint.status.tsx";
import { ReplayDeliveriesDialog } from "./replay-deliveries.dialog.tsx";
import { ResumeEndpointDialog } from "./resume-endpoint.dialog.tsx";
import { useTestEvent, type TestDelivery } from "./use-test-event.ts";

type Endpoint = EndpointDetailsFragment;

interface EndpointActionsProps {
  endpoint: Endpoint;
  onTested: (result: TestDelivery) => void;
}

export function EndpointActions({ endpoint, onTested }: EndpointActionsProps) {
  const test = useTestEvent(endpoint.id, onTested);
  const pausing = useDialog<Endpoint>();
  const resuming = useDialog<Endpoint>();
  const replaying = useDialog<Endpoint>();
  const deleting = useDialog<Endpoint>();
  const isActive = endpoint.status === "ACTIVE";
  return (
    <>
      <Button
        leftSection={<IconSend size={16} aria-hidden="true" />}
        loading={test.isBusy}
        onClick={test.send}
      >
        Send test event
      </Button>
      <Button variant="default" onClick={() => (isActive ? pausing : resuming).open(endpoint)}>
        {isActive ? "Pause" : "Resume"}
      </Button>
      <Menu withinPortal={false}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <IconDots size={18} aria-hidden="true" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconRepeat size={16} aria-hidden="true" />}
            onClick={() => replaying.open(endpoint)}
          >
            Replay events…
          </Menu.Item>
          <Menu.Item
            color="red"
            leftSection={<IconTrash size={16} aria-hidden="true" />}
            onClick={() => deleting.open(endpoint)}
          >
            Delete…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <PauseEndpointDialog dialog={pausing} />
      <ResumeEndpointDialog dialog={resuming} />
      <ReplayDeliveriesDialog dialog={replaying} />
      <DeleteEndpointDialog dialog={deleting} />
    </>
  );
}

function PauseEndpointDialog({
  dialog: { subject: endpoint, isOpen, close },
}: {
  dialog: DialogState<Endpoint>;
}) {
  const [pause] = useMutation(PauseWebhookEndpointDocument);
  if (!endpoint) return null;
  const confirm = async (): Promise<void> => {
    const { data } = await pause({ variables: { id: endpoint.id } });
    payloadOrThrow(data?.pauseWebhookEndpoint);
    notify("Endpoint paused.");
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title="Pause this endpoint?"
      action="Pause"
      onConfirm={confirm}
    >
      <Text>
        Deliveries stop. New events are kept for the retention period, and when you resume the endpoint you
        choose whether to send or discard them.
      </Text>
    </ConfirmDialog>
  );
}

function DeleteEndpointDialog({
  dialog: { subject: endpoint, isOpen, close },
}: {
  dialog: DialogState<Endpoint>;
}) {
  const [remove, { client }] = useMutation(DeleteWebhookEndpointDocument);
  const navigate = useNavigate();
  if (!endpoint) return null;
  const confirm = async (): Promise<void> => {
    const { data } = await remove({ variables: { id: endpoint.id } });
    payloadOrThrow(data?.deleteWebhookEndpoint);
    notify("Endpoint deleted.");
    await navigate({ to: "/integrations/endpoints", ignoreBlocker: true });
    // After leaving its page, which would otherwise load it again.
    client.cache.evict({ id: client.cache.identify({ __typename: "WebhookEndpoint", id: endpoint.id }) });
  };
  return (
    <ConfirmDialog
      opened={isOpen}
      onClose={close}
      title="Delete this endpoint?"
      action="Delete endpoint"
      isDangerous
      onConfirm={confirm}
    >
      <Text>
        Deliveries to {endpoint.url} stop, and its signing secret is deleted. This can’t be undone.{" "}
        {pendingEventsText(endpoint.pending)} Pending events are discarded. Past deliveries stay in the log
        for the retention period.
      </Text>
    </ConfirmDialog>
  );
}
