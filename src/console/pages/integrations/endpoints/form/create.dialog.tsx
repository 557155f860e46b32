/** Creates an endpoint, then shows its secret and example receivers. */
import { useMutation } from "@apollo/client/react";
import { Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { DialogState } from "../../../../app/interaction/use-dialog.ts";
import { useSubmit } from "../../../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../../../app/api/user-errors.ts";
import { Dialog } from "../../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../../components/forms/form-alert.tsx";
import { CreateWebhookEndpointDocument } from "../../../../generated/webhook-endpoints.ts";
import { EndpointFields } from "./fields.tsx";
import {
  endpointInput,
  validateEndpoint,
  emptyEndpointValues,
  type EndpointFormValues,
} from "./form-values.ts";
import { SecretCreated } from "../secret/secret-created.tsx";

interface CreatedEndpoint {
  id: string;
  url: string;
  secret: string;
}

export function CreateEndpointDialog({ dialog }: { dialog: DialogState<true> }) {
  return <CreateEndpointSteps key={dialog.openCount} dialog={dialog} />;
}

function CreateEndpointSteps({ dialog: { isOpen, close } }: { dialog: DialogState<true> }) {
  const [created, setCreated] = useState<CreatedEndpoint | null>(null);
  const navigate = useNavigate();
  const finish = (): void => {
    close();
    if (!created) return;
    void navigate({ to: "/integrations/endpoints/$id", params: { id: created.id }, ignoreBlocker: true });
  };
  return (
    <Dialog
      opened={isOpen}
      onClose={finish}
      size="lg"
      title={created ? "Your signing secret" : "Create endpoint"}
      isShownOnce={created !== null}
    >
      {created ? (
        <SecretCreated secret={created.secret} url={created.url} action="Go to endpoint" onDone={finish} />
      ) : (
        <CreateEndpointForm onCreated={setCreated} />
      )}
    </Dialog>
  );
}

interface CreateEndpointFormProps {
  onCreated: (created: CreatedEndpoint) => void;
}

function CreateEndpointForm({ onCreated }: CreateEndpointFormProps) {
  const [create] = useMutation(CreateWebhookEndpointDocument, { refetchQueries: ["WebhookEndpoints"] });
  const form = useForm<EndpointFormValues>({
    initialValues: emptyEndpointValues,
    validate: validateEndpoint,
  });
  const submit = useSubmit(form, async (values) => {
    const { data } = await create({ variables: { input: endpointInput(values) } });
    const { endpoint, secret } = payloadOrThrow(data?.createWebhookEndpoint);
    if (endpoint && secret !== null) onCreated({ id: endpoint.id, url: endpoint.url, secret });
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert failure={submit.failure} />
        <EndpointFields form={form} />
        <DialogActions action="Create endpoint" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
