/** Replays the selected deliveries, then reports those that could not be replayed. */
import { formatNumber } from "../../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { ConfirmForm } from "../../../components/dialogs/confirm-dialog.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import {
  ReplaySelectedDeliveriesDocument,
  type ReplaySelectedDeliveriesMutation,
} from "../../../generated/webhook-delivery.ts";
import type { DeliveryRowFragment } from "../../../generated/webhook-deliveries.ts";
import { eventTypeCode } from "../event-types.ts";
import { countDeliveries } from "./delivery-status.ts";

type Delivery = DeliveryRowFragment;
type Results = NonNullable<ReplaySelectedDeliveriesMutation["replaySelectedDeliveries"]["results"]>;

interface ReplaySelectedDialogProps {
  dialog: DialogState<readonly Delivery[]>;
  onReplayed: () => void;
}

export function ReplaySelectedDialog({ dialog, onReplayed }: ReplaySelectedDialogProps) {
  const { subject, isOpen, openCount, close } = dialog;
  if (!subject) return null;
  return (
    <Dialog opened={isOpen} onClose={close} title={`Replay ${countDeliveries(subject.length)}`}>
      <ReplaySteps key={openCount} deliveries={subject} onReplayed={onReplayed} onClose={close} />
    </Dialog>
  );
}

interface ReplayStepsProps {
  deliveries: readonly Delivery[];
  onReplayed: () => void;
  onClose: () => void;
}

function ReplaySteps({ deliveries, onReplayed, onClose }: ReplayStepsProps) {
  const [replay] = useMutation(ReplaySelectedDeliveriesDocument, { refetchQueries: ["WebhookDeliveries"] });
  const [results, setResults] = useState<Results | null>(null);
  const confirm = async (): Promise<void> => {
    const { data } = await replay({ variables: { ids: deliveries.map(({ id }) => id) } });
    setResults(payloadOrThrow(data?.replaySelectedDeliveries).results ?? []);
    onReplayed();
  };
  if (results) return <ReplayReport deliveries={deliveries} results={results} onClose={onClose} />;
  const pending = deliveries.filter(({ status }) => status === "PENDING").length;
  return (
    <ConfirmForm action="Replay" onConfirm={confirm}>
      Each becomes a new delivery with the same <Code>webhook-id</Code> and body, and up to ten attempts.
      {pending > 0 && ` ${countDeliveries(pending)} of them are still pending and will be discarded.`}
    </ConfirmForm>
  );
}

function ReplayReport({
  deliveries,
  results,
  onClose,
}: Omit<ReplayStepsProps, "onReplayed"> & { results: Results }) {
  const refused = results.filter(({ error }) => error !== null);
  return (
    <Stack>
      <Text role="status">
        {countDeliveries(results.length - refused.length)} replayed
        {refused.length > 0 && `, ${formatNumber(refused.length)} not`}.
      </Text>
      {refused.length > 0 && (
        <Stack component="ul" gap="xs" m={0} pl="md">
          {refused.map(({ id, error }) => (
            <Text key={id} component="li" fz="sm">
              <TextLink to="/integrations/deliveries/$id" params={{ id }}>
                {nameOf(deliveries.find((one) => one.id === id))}
              </TextLink>
              : {error}
            </Text>
          ))}
        </Stack>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose}>Close</Button>
      </Group>
    </Stack>
  );
}

function nameOf(delivery: Delivery | undefined): string {
  return delivery
    ? `${eventTypeCode(delivery.eventType)} ${delivery.markingNumber ?? ""}`.trim()
    : "Delivery";
}
