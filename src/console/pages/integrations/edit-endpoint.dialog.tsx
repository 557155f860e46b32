/** Changes an endpoint's settings. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { tell } from "../../app/tell.ts";
import type { DialogState } from "../../app/use-dialog.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { accepted } from "../../app/user-errors.ts";
import { Dialog } from "../../components/dialog.tsx";
import { DialogActions } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import {
  UpdateWebhookEndpointDocument,
  type EndpointDetailsFragment,
} from "../../generated/webhook-endpoint.ts";
import { EndpointFields } from "./endpoint-fields.tsx";
import { endpointPatch, endpointProblems, valuesOf, type EndpointFormValues } from "./endpoint-form.ts";

type Endpoint = EndpointDetailsFragment;

export function EditEndpointDialog({ dialog }: { dialog: DialogState<Endpoint> }) {
  const { subject, turn, isOpen, close } = dialog;
  return (
    <Dialog opened={isOpen} onClose={close} size="lg" title="Edit endpoint">
      {subject && <EditEndpointForm key={turn} endpoint={subject} onDone={close} />}
    </Dialog>
  );
}

function EditEndpointForm({ endpoint, onDone }: { endpoint: Endpoint; onDone: () => void }) {
  const [update] = useMutation(UpdateWebhookEndpointDocument);
  const form = useForm<EndpointFormValues>({ initialValues: valuesOf(endpoint), validate: endpointProblems });
  const submit = useSubmit(form, async (values) => {
    const patch = endpointPatch(values, endpoint);
    if (Object.keys(patch).length > 0) {
      const { data } = await update({ variables: { id: endpoint.id, patch } });
      accepted(data?.updateWebhookEndpoint);
      tell("The endpoint is changed.");
    }
    onDone();
  });
  const isElsewhere = form.values.url.trim() !== endpoint.url;
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert message={submit.failure} />
        <EndpointFields form={form} formerHeaders={endpoint.headers.map(({ name }) => name)} />
        {isElsewhere && (
          <Text c="dimmed" fz="sm" role="status">
            A new URL starts with a clean slate: whatever the old one had failed at is forgotten. The secret
            stays.
          </Text>
        )}
        <DialogActions action="Save" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
