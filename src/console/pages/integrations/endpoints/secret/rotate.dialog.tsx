/** Gives an endpoint a new secret, and shows it. */
import { useMutation } from "@apollo/client/react";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { errorMessage } from "../../../../app/api/describe-error.ts";
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
      title={secret === null ? "Rotate the secret?" : "The new secret"}
      isShownOnce={secret !== null}
    >
      {secret === null ? (
        <RotateSecretForm endpoint={endpoint} onSecret={setSecret} />
      ) : (
        <SecretCreated secret={secret} url={endpoint.url} action="I have kept it" onDone={close}>
          <Text fz="sm">
            For 24 hours the former one signs beside it: whichever your receiver uses, nothing is lost.
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
  const [failure, setFailure] = useState<string | null>(null);
  useUnsavedInput(() => (loading ? "locked" : "clean"));
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      const { data } = await rotate({ variables: { id: endpoint.id } });
      const { secret } = payloadOrThrow(data?.rotateWebhookSecret);
      if (secret !== null) onSecret(secret);
    } catch (error) {
      setFailure(errorMessage(error));
    }
  };
  return (
    <Stack>
      <FormAlert message={failure} />
      <Text>
        You get a new secret at once. For 24 hours every request carries two signatures, by the new one and by
        the old one. Put the new one into your receiver in that time.
      </Text>
      {endpoint.previousSecretsExpireAt.length > 1 && (
        <Text>Two former secrets still sign. The oldest of them stops at once.</Text>
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
