/** Makes an endpoint, and shows its secret with a receiver that verifies by it. */
import { useMutation } from "@apollo/client/react";
import { Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { DialogState } from "../../app/use-dialog.ts";
import { useSubmit } from "../../app/use-submit.ts";
import { accepted } from "../../app/user-errors.ts";
import { Dialog } from "../../components/dialog.tsx";
import { DialogActions } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { CreateWebhookEndpointDocument } from "../../generated/webhook-endpoints.ts";
import { EndpointFields } from "./endpoint-fields.tsx";
import { endpointInput, endpointProblems, newEndpoint, type EndpointFormValues } from "./endpoint-form.ts";
import { SecretReady } from "./secret-ready.tsx";

interface Made {
  id: string;
  url: string;
  secret: string;
}

export function CreateEndpointDialog({ dialog }: { dialog: DialogState<true> }) {
  return <CreateEndpointSteps key={dialog.turn} dialog={dialog} />;
}

function CreateEndpointSteps({ dialog: { isOpen, close } }: { dialog: DialogState<true> }) {
  const [made, setMade] = useState<Made | null>(null);
  const navigate = useNavigate();
  const finish = (): void => {
    close();
    if (!made) return;
    void navigate({ to: "/integrations/endpoints/$id", params: { id: made.id }, ignoreBlocker: true });
  };
  return (
    <Dialog
      opened={isOpen}
      onClose={finish}
      size="lg"
      title={made ? "Your endpoint's secret" : "Create endpoint"}
      isShownOnce={made !== null}
    >
      {made ? (
        <SecretReady secret={made.secret} url={made.url} action="Go to the endpoint" onDone={finish} />
      ) : (
        <CreateEndpointForm onMade={setMade} />
      )}
    </Dialog>
  );
}

interface CreateEndpointFormProps {
  onMade: (made: Made) => void;
}

function CreateEndpointForm({ onMade }: CreateEndpointFormProps) {
  const [create] = useMutation(CreateWebhookEndpointDocument, { refetchQueries: ["WebhookEndpoints"] });
  const form = useForm<EndpointFormValues>({ initialValues: newEndpoint, validate: endpointProblems });
  const submit = useSubmit(form, async (values) => {
    const { data } = await create({ variables: { input: endpointInput(values) } });
    const { endpoint, secret } = accepted(data?.createWebhookEndpoint);
    if (endpoint && secret !== null) onMade({ id: endpoint.id, url: endpoint.url, secret });
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
      <Stack>
        <FormAlert message={submit.failure} />
        <EndpointFields form={form} />
        <DialogActions action="Create endpoint" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
