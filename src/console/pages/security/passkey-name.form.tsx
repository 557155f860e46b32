/** Names a new passkey, or an old one again. */
import { Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { addPasskey } from "../../app/session/passkeys.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";

interface PasskeyNameFormProps {
  name?: string | undefined;
  description?: string;
  action: string;
  onSubmit: (name: string) => Promise<void>;
}

export function PasskeyNameForm({ name = "", description, action, onSubmit }: PasskeyNameFormProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: { name } });
  const submit = useSubmit(form, (values) => onSubmit(values.name));
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        {description !== undefined && <Text>{description}</Text>}
        <FormAlert failure={submit.failure} />
        <TextInput
          key={form.key("name")}
          {...form.getInputProps("name")}
          label="Name"
          description="Such as “Work laptop” or “Phone”."
          maxLength={60}
          data-autofocus
          required
          withAsterisk={false}
        />
        <DialogActions action={action} isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

interface AddPasskeyDialogProps {
  opened: boolean;
  onClose: () => void;
  onAdded?: () => void;
}

export function AddPasskeyDialog({ opened, onClose, onAdded }: AddPasskeyDialogProps) {
  const session = useSessionStore();
  const add = async (name: string): Promise<void> => {
    await addPasskey(name);
    onClose();
    onAdded?.();
    await session.load();
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Add a passkey">
      <PasskeyNameForm
        description="Your browser then asks where to save the passkey, and for your fingerprint, face or PIN."
        action="Continue"
        onSubmit={add}
      />
    </Dialog>
  );
}
