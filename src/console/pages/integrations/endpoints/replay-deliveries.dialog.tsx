/** Sends many events again: those that failed, or those that the endpoint never had. */
import { useMutation } from "@apollo/client/react";
import { Radio, Select, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.ts";
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
  /** Hours back; empty: as far as the log goes. */
  hours: string;
}

const timeRanges = [
  { value: "1", label: "The last hour" },
  { value: "12", label: "The last 12 hours" },
  { value: "24", label: "The last day" },
  { value: "168", label: "The last 7 days" },
  { value: "", label: "As far as the log goes" },
];

const HOUR_MS = 3_600_000;

export function ReplayDeliveriesDialog({
  dialog: { subject, openCount, isOpen, close },
}: {
  dialog: DialogState<Endpoint>;
}) {
  return (
    <Dialog opened={isOpen} onClose={close} title="Send events again">
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
    notify(replayedMessage(payloadOrThrow(data?.replayDeliveries).replayed ?? 0));
    onDone();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)} noValidate>
      <Stack>
        <FormAlert message={submit.errorMessage} />
        <Radio.Group {...form.getInputProps("only")} label="Which events">
          <Stack gap="sm" mt="xs">
            <Radio
              value="FAILED"
              label="What failed for good"
              description="Every attempt failed, and it was not sent again already"
            />
            <Radio
              value="MISSING"
              label="Everything that is missing"
              description="Events that this endpoint wants and never had, say because it is new"
            />
          </Stack>
        </Radio.Group>
        <Select {...form.getInputProps("hours")} label="From" data={timeRanges} allowDeselect={false} />
        <Text c="dimmed" fz="sm">
          Each is a new delivery with the same webhook-id, a fresh signature and ten attempts of its own. Your
          receiver may have seen some of them: it knows a repeat by the webhook-id.
          {endpoint.status !== "ACTIVE" && " They wait until the endpoint is resumed."}
        </Text>
        <DialogActions action="Send again" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

function replayedMessage(count: number): string {
  if (count === 0) return "There is nothing to send again.";
  return count === 1 ? "1 event is sent again." : `${count.toLocaleString()} events are sent again.`;
}
