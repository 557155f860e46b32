/** Dialogs for saving and removing views of the jobs table. */
import { Button, Group, List, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { describeError, type Failure } from "../../../app/api/describe-error.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import { useSubmit } from "../../../app/interaction/use-submit.ts";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { EmptyNote } from "../../../components/status/empty-note.tsx";
import type { SavedViewEntryFragment } from "../../../generated/saved-views.ts";

const MAX_NAME_LENGTH = 60;

interface ViewDialogProps {
  opened: boolean;
  onClose: () => void;
}

interface SaveViewDialogProps extends ViewDialogProps {
  /** Saving under an existing name replaces that view. */
  existingNames: readonly string[];
  onSave: (name: string) => Promise<void>;
}

export function SaveViewDialog({ opened, ...form }: SaveViewDialogProps) {
  return (
    <Dialog opened={opened} onClose={form.onClose} title="Save view">
      <SaveViewForm {...form} />
    </Dialog>
  );
}

function SaveViewForm({ onClose, existingNames, onSave }: Omit<SaveViewDialogProps, "opened">) {
  const form = useForm({ initialValues: { name: "" } });
  const submit = useSubmit(form, async ({ name }) => {
    await onSave(name.trim());
    notify(`View “${name.trim()}” saved.`);
    onClose();
  });
  const isTaken = existingNames.includes(form.values.name.trim());
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text fz="sm" c="dimmed">
          Saves the filters, sort order and columns. Only you can see it. To share a view, copy the page’s
          URL.
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
        <DialogActions action="Save view" isBusy={submit.isBusy} />
      </Stack>
    </form>
  );
}

interface RemoveViewsDialogProps extends ViewDialogProps {
  views: readonly SavedViewEntryFragment[];
  onRemove: (id: string) => Promise<void>;
}

export function RemoveViewsDialog({ opened, onClose, views, onRemove }: RemoveViewsDialogProps) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const remove = (id: string): void => {
    setFailure(null);
    onRemove(id).catch((error: unknown) => setFailure(describeError(error)));
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Remove views">
      <Stack>
        <FormAlert failure={failure} />
        {views.length === 0 && <EmptyNote guide={guide.jobs}>No saved views.</EmptyNote>}
        <List
          listStyleType="none"
          spacing="xs"
          styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}
        >
          {views.map(({ id, name }) => (
            <List.Item key={id}>
              <Group justify="space-between" wrap="nowrap">
                <Text truncate>{name}</Text>
                <Button variant="default" size="xs" onClick={() => remove(id)} aria-label={`Remove ${name}`}>
                  Remove
                </Button>
              </Group>
            </List.Item>
          ))}
        </List>
      </Stack>
    </Dialog>
  );
}
