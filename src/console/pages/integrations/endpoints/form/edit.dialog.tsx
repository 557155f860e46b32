/** Edits the settings of an endpoint. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notify } from "../../../../app/interaction/notify.tsx";
import type { DialogState } from "../../../../app/interaction/use-dialog.ts";
import { useSubmit } from "../../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../../app/api/user-errors.ts";
import { Dialog } from "../../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../../components/forms/form-alert.tsx";
import {
  UpdateWebhookEndpointDocument,
  type EndpointDetailsFragment,
} from "../../../../generated/webhook-endpoint.ts";
import { EndpointFields } from "./fields.tsx";
import { endpointPatch, validateEndpoint, toEndpointValues, type EndpointFormValues } from "./form-values.ts";

type Endpoint = EndpointDetailsFragment;

export function EditEndpointDialog({ dialog }: { dialog: DialogState<Endpoint> }) {
  const { subject, openCount, isOpen, close } = dialog;
  return (
    <Dialog opened={isOpen} onClose={close} size="lg" title="Edit endpoint">
      {subject && <EditEndpointForm key={openCount} endpoint={subject} onDone={close} />}
    </Dialog>
  );
}

function EditEndpointForm({ endpoint, onDone }: { endpoint: Endpoint; onDone: () => void }) {
  const [update] = useMutation(UpdateWebhookEndpointDocument);
  const form = useForm<EndpointFormValues>({
    initialValues: toEndpointValues(endpoint),
    validate: validateEndpoint,
  });
  const submit = useSubmit(form, async (values) => {
    const patch = endpointPatch(values, endpoint);
    if (Object.keys(patch).length > 0) {
      const { data } = await update({ variables: { id: endpoint.id, patch } });
      payloadOrThrow(data?.updateWebhookEndpoint);
      notify("Endpoint saved.");
    }
    onDone();
  });
  const isUrlChanged = form.values.url.trim() !== endpoint.url;
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <EndpointFields form={form} currentHeaders={endpoint.headers.map(({ name }) => name)} />
        {isUrlChanged && (
          <Text c="dimmed" fz="sm" role="status">
            Changing the URL resets the failure status. The signing secret stays the same.
          </Text>
        )}
        <DialogActions action="Save" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
