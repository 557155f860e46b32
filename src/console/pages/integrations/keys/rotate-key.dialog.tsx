/** Replaces a key with a new one. The old key can stay valid for up to 24 hours. */
import { useMutation } from "@apollo/client/react";
import { Slider, Stack, Text } from "@mantine/core";
import { useId, useState } from "react";
import { describeError, type Failure } from "../../../app/api/describe-error.ts";
import type { DialogState } from "../../../app/interaction/use-dialog.ts";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { RotateApiKeyDocument, type ApiKeyRowFragment } from "../../../generated/api-keys.ts";
import { KeyCreated, type IssuedKey } from "./key-created.tsx";

const MAX_GRACE_HOURS = 24;
const marks = [0, 6, 12, 18, MAX_GRACE_HOURS].map((value) => ({ value, label: `${value} h` }));

export function RotateKeyDialog({ dialog }: { dialog: DialogState<ApiKeyRowFragment> }) {
  return dialog.subject && <RotateKeySteps key={dialog.openCount} apiKey={dialog.subject} dialog={dialog} />;
}

interface RotateKeyStepsProps {
  apiKey: ApiKeyRowFragment;
  dialog: DialogState<ApiKeyRowFragment>;
}

function RotateKeySteps({ apiKey, dialog: { isOpen, close } }: RotateKeyStepsProps) {
  const [done, setDone] = useState<{ issued: IssuedKey; hours: number } | null>(null);
  return (
    <Dialog
      opened={isOpen}
      onClose={close}
      size="lg"
      title={done ? "Your new API key" : `Rotate ${apiKey.name}`}
      isShownOnce={done !== null}
    >
      {done ? (
        <KeyCreated issued={done.issued} onDone={close}>
          {graceText(done.hours)}
        </KeyCreated>
      ) : (
        <RotateKeyForm apiKey={apiKey} onDone={(issued, hours) => setDone({ issued, hours })} />
      )}
    </Dialog>
  );
}

interface RotateKeyFormProps {
  apiKey: ApiKeyRowFragment;
  onDone: (issued: IssuedKey, hours: number) => void;
}

function RotateKeyForm({ apiKey, onDone }: RotateKeyFormProps) {
  const [rotate, { loading }] = useMutation(RotateApiKeyDocument, { refetchQueries: ["ApiKeys"] });
  const [hours, setHours] = useState(MAX_GRACE_HOURS);
  const [failure, setFailure] = useState<Failure | null>(null);
  const label = useId();
  useUnsavedInput(() => (loading ? "locked" : hours === MAX_GRACE_HOURS ? "clean" : "changed"));
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      const { data } = await rotate({ variables: { id: apiKey.id, graceHours: hours } });
      const { apiKey: created, secret } = payloadOrThrow(data?.rotateApiKey);
      if (created && secret !== null) onDone({ secret, scopes: created.scopes }, hours);
    } catch (error) {
      setFailure(describeError(error));
    }
  };
  return (
    <Stack>
      <FormAlert failure={failure} />
      <Text>
        You get a new key with the same permissions. Switch your integration to it while the old key is still
        valid.
      </Text>
      <div>
        <Text fw={600} fz="sm" id={label}>
          Keep the old key valid for
        </Text>
        <Slider
          value={hours}
          onChange={setHours}
          max={MAX_GRACE_HOURS}
          marks={marks}
          label={formatHours}
          thumbProps={{ "aria-labelledby": label, "aria-valuetext": formatHours(hours) }}
          mt="md"
          mb="xl"
          mx="sm"
        />
        <Text c="dimmed" fz="sm">
          {graceText(hours)}
        </Text>
      </div>
      <DialogActions action="Rotate key" isBusy={loading} onAction={() => void send()} />
    </Stack>
  );
}

function graceText(hours: number): string {
  return hours === 0
    ? "The old key stops working now. Requests that still use it are rejected."
    : `Both keys work for ${formatHours(hours)}. Then the old one expires.`;
}

function formatHours(hours: number): string {
  return hours === 1 ? "1 hour" : `${hours} hours`;
}
