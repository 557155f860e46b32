/** Resumes an endpoint, and asks what to do with its pending events. */
import { formatNumber } from "../../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.tsx";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { ResumeWebhookEndpointDocument, type PendingPolicy } from "../../../generated/webhook-endpoint.ts";
import type { EndpointCardFragment } from "../../../generated/webhook-endpoints.ts";
import { pendingEventsText } from "./endpoint.status.tsx";

type Endpoint = EndpointCardFragment;

interface ResumeValues extends Record<string, unknown> {
  pendingPolicy: PendingPolicy;
  /** Value of a `datetime-local` input, in the browser's time zone. */
  since: string;
}

interface ResumeEndpointDialogProps {
  dialog: Omit<DialogState<Endpoint>, "open">;
  onResumed?: () => void;
}

export function ResumeEndpointDialog({
  dialog: { subject, openCount, isOpen, close },
  onResumed,
}: ResumeEndpointDialogProps) {
  const finish = (): void => {
    close();
    onResumed?.();
  };
  return (
    <Dialog opened={isOpen} onClose={close} title="Resume endpoint">
      {subject && <ResumeEndpointForm key={openCount} endpoint={subject} onDone={finish} />}
    </Dialog>
  );
}

function PendingFields({ form }: { form: UseFormReturnType<ResumeValues> }) {
  return (
    <>
      <Radio.Group {...form.getInputProps("pendingPolicy")} label="Pending events">
        <Stack gap="sm" mt="xs">
          <Radio value="SEND" label="Send all" description="As fast as the endpoint’s limits allow" />
          <Radio
            value="SEND_SINCE"
            label="Send recent events only"
            description="Older events are discarded"
          />
          <Radio value="DISCARD" label="Discard all" description="You can still replay them from the log" />
        </Stack>
      </Radio.Group>
      {form.values.pendingPolicy === "SEND_SINCE" && (
        <TextInput
          {...form.getInputProps("since")}
          type="datetime-local"
          label="Send events since"
          required
        />
      )}
    </>
  );
}

function ResumeEndpointForm({ endpoint, onDone }: { endpoint: Endpoint; onDone: () => void }) {
  const [resume] = useMutation(ResumeWebhookEndpointDocument, { refetchQueries: ["WebhookDeliveries"] });
  const form = useForm<ResumeValues>({
    initialValues: { pendingPolicy: "SEND", since: "" },
    validate: ({ pendingPolicy, since }) =>
      pendingPolicy === "SEND_SINCE" && Number.isNaN(Date.parse(since))
        ? { since: "Choose a date and time" }
        : {},
  });
  const submit = useSubmit(form, async ({ pendingPolicy, since }) => {
    const from = pendingPolicy === "SEND_SINCE" ? new Date(since).toISOString() : null;
    const { data } = await resume({ variables: { id: endpoint.id, pendingPolicy, since: from } });
    const { discarded } = payloadOrThrow(data?.resumeWebhookEndpoint);
    notify(
      discarded
        ? `Endpoint resumed. ${discarded === 1 ? "1 pending event was" : `${formatNumber(discarded)} pending events were`} discarded.`
        : "Endpoint resumed.",
    );
    onDone();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <Text>
          {pendingEventsText(endpoint.pending)} New events are sent in any case. If deliveries keep failing,
          the endpoint is disabled again, at once if the receiver returns 410.
        </Text>
        {endpoint.pending > 0 && <PendingFields form={form} />}
        <DialogActions action="Resume" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
