/** Gives a new key in an old one's place; the old one may stay good for a while. */
import { useMutation } from "@apollo/client/react";
import { Slider, Stack, Text } from "@mantine/core";
import { useId, useState } from "react";
import { errorSentence } from "../../app/describe-error.ts";
import type { DialogState } from "../../app/use-dialog.ts";
import { useUnsaved } from "../../app/unsaved.tsx";
import { accepted } from "../../app/user-errors.ts";
import { Dialog } from "../../components/dialog.tsx";
import { DialogActions } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";
import { RotateApiKeyDocument, type ApiKeyRowFragment } from "../../generated/api-keys.ts";
import { KeyReady, type IssuedKey } from "./key-ready.tsx";

const MOST_HOURS = 24;
const marks = [0, 6, 12, 18, MOST_HOURS].map((value) => ({ value, label: `${value} h` }));

export function RotateKeyDialog({ dialog }: { dialog: DialogState<ApiKeyRowFragment> }) {
  return dialog.subject && <RotateKeySteps key={dialog.turn} apiKey={dialog.subject} dialog={dialog} />;
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
        <KeyReady issued={done.issued} onDone={close}>
          {graceSentence(done.hours)}
        </KeyReady>
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
  const [hours, setHours] = useState(MOST_HOURS);
  const [failure, setFailure] = useState<string | null>(null);
  const label = useId();
  useUnsaved(() => (loading ? "locked" : hours === MOST_HOURS ? "clean" : "changed"));
  const send = async (): Promise<void> => {
    setFailure(null);
    try {
      const { data } = await rotate({ variables: { id: apiKey.id, graceHours: hours } });
      const { apiKey: made, secret } = accepted(data?.rotateApiKey);
      if (made && secret !== null) onDone({ secret, scopes: made.scopes }, hours);
    } catch (error) {
      setFailure(errorSentence(error));
    }
  };
  return (
    <Stack>
      <FormAlert message={failure} />
      <Text>
        You get a new key that may do the same. Put it into your program while the old one is still good.
      </Text>
      <div>
        <Text fw={600} fz="sm" id={label}>
          The old key stays good for
        </Text>
        <Slider
          value={hours}
          onChange={setHours}
          max={MOST_HOURS}
          marks={marks}
          label={hoursWords}
          thumbProps={{ "aria-labelledby": label, "aria-valuetext": hoursWords(hours) }}
          mt="md"
          mb="xl"
          mx="sm"
        />
        <Text c="dimmed" fz="sm">
          {graceSentence(hours)}
        </Text>
      </div>
      <DialogActions action="Rotate key" isBusy={loading} onAct={() => void send()} />
    </Stack>
  );
}

function graceSentence(hours: number): string {
  return hours === 0
    ? "The old key ends at once: whatever uses it is refused until it has the new one."
    : `Both keys are good for ${hoursWords(hours)}. Then the old one ends by itself.`;
}

function hoursWords(hours: number): string {
  return hours === 1 ? "1 hour" : `${hours} hours`;
}
