/** The dialog that saves a view of the jobs table. */
import { Checkbox, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useSession } from "../../../app/session/session.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";

const MAX_NAME_LENGTH = 60;

interface SaveViewDialogProps {
  opened: boolean;
  onClose: () => void;
  /** Saving under an existing name replaces that view. */
  existingNames: readonly string[];
  onSave: (name: string, isShared: boolean) => Promise<void>;
}

export function SaveViewDialog({ opened, ...form }: SaveViewDialogProps) {
  return (
    <Dialog opened={opened} onClose={form.onClose} title="Save view">
      <SaveViewForm {...form} />
    </Dialog>
  );
}

function SaveViewForm({ onClose, existingNames, onSave }: Omit<SaveViewDialogProps, "opened">) {
  const form = useForm({ initialValues: { name: "", isShared: false } });
  const { organization } = useSession();
  const submit = useSubmit(form, async ({ name, isShared }) => {
    await onSave(name.trim(), isShared);
    notify(`View “${name.trim()}” saved.`);
    onClose();
  });
  const isTaken = existingNames.includes(form.values.name.trim());
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text fz="sm" c="dimmed">
          Saves the filters, sort order and columns.
        </Text>
        <FormAlert failure={submit.failure} />
        <TextInput
          {...form.getInputProps("name")}
          label="Name"
          description={isTaken ? "A view with this name exists and will be replaced." : undefined}
          placeholder="Late in the east"
          maxLength={MAX_NAME_LENGTH}
          required
          withAsterisk={false}
          data-autofocus
        />
        <Checkbox
          {...form.getInputProps("isShared", { type: "checkbox" })}
          label={`Share with ${organization?.name ?? "operators"}`}
          description="All who can save views see it. Without it, only you do."
        />
        <DialogActions action="Save view" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}
