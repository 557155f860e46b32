/** Rotates the secret of an endpoint, then shows the new one. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { describeError, type Failure } from "../../../../app/api/describe-error.ts";
import type { DialogState } from "../../../../app/interaction/use-dialog.ts";
import { useUnsavedInput } from "../../../../app/interaction/unsaved-changes.tsx";
import { payloadOrThrow } from "../../../../app/api/user-errors.ts";
import { Dialog } from "../../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../../components/forms/form-alert.tsx";
import {
  RotateWebhookSecretDocument,
  type EndpointDetailsFragment,
} from "../../../../generated/webhook-endpoint.ts";
import { SecretCreated } from "./secret-created.tsx";

type Endpoint = EndpointDetailsFragment;

export function RotateSecretDialog({ dialog }: { dialog: DialogState<Endpoint> }) {
  return (
    dialog.subject && <RotateSecretSteps key={dialog.openCount} endpoint={dialog.subject} dialog={dialog} />
  );
}

interface RotateSecretStepsProps {
  endpoint: Endpoint;
  dialog: DialogState<Endpoint>;
}

function RotateSecretSteps({ endpoint, dialog: { isOpen, close } }: RotateSecretStepsProps) {
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <Dialog
      opened={isOpen}
      onClose={close}
      size={secret === null ? "md" : "lg"}
      title={secret === null ? "Rotate signing secret?" : "Your new signing secret"}
      isShownOnce={secret !== null}
    >
      {secret === null ? (
        <RotateSecretForm endpoint={endpoint} onSecret={setSecret} />
      ) : (
        <SecretCreated secret={secret} url={endpoint.url} action="I’ve saved it" onDone={close}>
          <Text fz="sm">
            For 24 hours requests are signed with both secrets, so your receiver can use either.
          </Text>
        </SecretCreated>
      )}
    </Dialog>
  );
}

interface RotateSecretFormProps {
  endpoint: Endpoint;
  onSecret: (secret: string) => void;
}

function RotateSecretForm({ endpoint, onSecret }: RotateSecretFormProps) {
  const [rotate, { loading }] = useMutation(RotateWebhookSecretDocument);
  const [failure, setFailure] = useState<Failure | null>(null);
  useUnsavedInput(() => (loading ? "locked" : "clean"));
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      const { data } = await rotate({ variables: { id: endpoint.id } });
      const { secret } = payloadOrThrow(data?.rotateWebhookSecret);
      if (secret !== null) onSecret(secret);
    } catch (error) {
      setFailure(describeError(error));
    }
  };
  return (
    <Stack>
      <FormAlert failure={failure} />
      <Text>
        You get a new secret now. For 24 hours every request is signed with both the new and the old secret.
        Update your receiver within that time.
      </Text>
      {endpoint.previousSecretsExpireAt.length > 1 && (
        <Text>Two previous secrets are still in use. The older one stops signing now.</Text>
      )}
      <DialogActions
        action="Rotate secret"
        isBusy={loading}
        isAutoFocused

        onAction={() => void send()}
      />
    </Stack>
  );
}
