/** Resumes an endpoint, and says what becomes of the events that waited. */
import { useMutation } from "@apollo/client/react";
import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { notify } from "../../../app/interaction/notify.ts";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import {
  ResumeWebhookEndpointDocument,
  type EndpointDetailsFragment,
  type PendingPolicy,
} from "../../../generated/webhook-endpoint.ts";
import { pendingEventsText } from "./endpoint.status.tsx";

type Endpoint = EndpointDetailsFragment;

interface ResumeValues extends Record<string, unknown> {
  pendingPolicy: PendingPolicy;
  /** As the field for times has it, in the reader's zone. */
  since: string;
}

export function ResumeEndpointDialog({
  dialog: { subject, openCount, isOpen, close },
}: {
  dialog: DialogState<Endpoint>;
}) {
  return (
    <Dialog opened={isOpen} onClose={close} title="Resume this endpoint">
      {subject && <ResumeEndpointForm key={openCount} endpoint={subject} onDone={close} />}
    </Dialog>
  );
}

function PendingFields({ form }: { form: UseFormReturnType<ResumeValues> }) {
  return (
    <>
      <Radio.Group {...form.getInputProps("pendingPolicy")} label="What becomes of those that wait">
        <Stack gap="sm" mt="xs">
          <Radio value="SEND" label="Send them all" description="As fast as the endpoint's limits allow" />
          <Radio
            value="SEND_SINCE"
            label="Send only the newer ones"
            description="The older ones are discarded"
          />
          <Radio
            value="DISCARD"
            label="Discard them all"
            description="They can still be sent again from the log"
          />
        </Stack>
      </Radio.Group>
      {form.values.pendingPolicy === "SEND_SINCE" && (
        <TextInput
          {...form.getInputProps("since")}
          type="datetime-local"
          label="Send what happened since"
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
        ? { since: "Choose a day and a time" }
        : {},
  });
  const submit = useSubmit(form, async ({ pendingPolicy, since }) => {
    const from = pendingPolicy === "SEND_SINCE" ? new Date(since).toISOString() : null;
    const { data } = await resume({ variables: { id: endpoint.id, pendingPolicy, since: from } });
    const { discarded } = payloadOrThrow(data?.resumeWebhookEndpoint);
    notify(
      discarded
        ? `The endpoint is active. ${discarded.toLocaleString()} discarded.`
        : "The endpoint is active.",
    );
    onDone();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert message={submit.errorMessage} />
        <Text>{pendingEventsText(endpoint.waiting)} What comes from now on is sent in any case.</Text>
        {endpoint.waiting > 0 && <PendingFields form={form} />}
        <DialogActions action="Resume" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
