/** Replays many events to an endpoint: failed ones, or ones that it never received. */
import { formatNumber } from "../../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Radio, Select, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.tsx";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import {
  ReplayDeliveriesDocument,
  type EndpointDetailsFragment,
  type ReplaySelection,
} from "../../../generated/webhook-endpoint.ts";

type Endpoint = EndpointDetailsFragment;

interface ReplayValues extends Record<string, unknown> {
  only: ReplaySelection;
  /** Hours to go back; empty for the whole log. */
  hours: string;
}

const timeRanges = [
  { value: "1", label: "Last hour" },
  { value: "12", label: "Last 12 hours" },
  { value: "24", label: "Last 24 hours" },
  { value: "168", label: "Last 7 days" },
  { value: "", label: "Whole log" },
];

const HOUR_MS = 3_600_000;

export function ReplayDeliveriesDialog({
  dialog: { subject, openCount, isOpen, close },
}: {
  dialog: DialogState<Endpoint>;
}) {
  return (
    <Dialog opened={isOpen} onClose={close} title="Replay events">
      {subject && <ReplayDeliveriesForm key={openCount} endpoint={subject} onDone={close} />}
    </Dialog>
  );
}

function ReplayDeliveriesForm({ endpoint, onDone }: { endpoint: Endpoint; onDone: () => void }) {
  const [replay] = useMutation(ReplayDeliveriesDocument, {
    refetchQueries: ["WebhookDeliveries", "WebhookEndpoint"],
  });
  const form = useForm<ReplayValues>({ initialValues: { only: "FAILED", hours: "24" } });
  const submit = useSubmit(form, async ({ only, hours }) => {
    const since = hours === "" ? null : new Date(Date.now() - Number(hours) * HOUR_MS).toISOString();
    const { data } = await replay({ variables: { endpointId: endpoint.id, only, since } });
    const { replayed, hasMore } = payloadOrThrow(data?.replayDeliveries);
    notify(replayedMessage(replayed ?? 0, hasMore ?? false));
    onDone();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <Radio.Group {...form.getInputProps("only")} label="Events">
          <Stack gap="sm" mt="xs">
            <Radio
              value="FAILED"
              label="Failed events"
              description="All attempts failed, and the event was not replayed since"
            />
            <Radio
              value="MISSING"
              label="Missing events"
              description="Events that this endpoint subscribes to but never received, for example because it is new"
            />
          </Stack>
        </Radio.Group>
        <Select {...form.getInputProps("hours")} label="Period" data={timeRanges} allowDeselect={false} />
        <Text c="dimmed" fz="sm">
          Each event becomes a new delivery with the same webhook-id, a new signature and up to ten attempts.
          Your receiver may have received some of them before and can detect duplicates by the webhook-id.
          {endpoint.status !== "ACTIVE" && " They are sent once the endpoint is resumed."}
        </Text>
        <DialogActions action="Replay" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

function replayedMessage(count: number, hasMore: boolean): string {
  if (hasMore) return `Replaying ${formatNumber(count)} events. Replay again for the rest.`;
  if (count === 0) return "No events to replay.";
  return count === 1 ? "Replaying 1 event." : `Replaying ${formatNumber(count)} events.`;
}
