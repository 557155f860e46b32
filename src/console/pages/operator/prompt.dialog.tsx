/** A dialog that asks for a text, such as a reason or a question. */
import { Stack, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogActions } from "../../components/dialogs/dialog-actions.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";

interface PromptDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What the action does. */
  children?: ReactNode;
  /** The server's name for the text, to which its errors refer. */
  fieldName: string;
  label: string;
  description: string;
  action: string;
  isDangerous?: boolean;
  /** A preview of the e-mail that is sent. */
  preview?: (text: string) => ReactNode;
  /** An error that it throws is shown in the dialog. */
  onSubmit: (text: string) => Promise<void>;
}

const MAX_TEXT_LENGTH = 2_000;

export function PromptDialog({ opened, onClose, title, ...form }: PromptDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title} size="lg">
      <PromptForm onClose={onClose} {...form} />
    </Dialog>
  );
}

function PromptForm(props: Omit<PromptDialogProps, "opened" | "title">) {
  const {
    onClose,
    children,
    fieldName,
    label,
    description,
    action,
    isDangerous = false,
    preview,
    onSubmit,
  } = props;
  const form = useForm<Record<string, string>>({ initialValues: { [fieldName]: "" } });
  const text = form.values[fieldName] ?? "";
  const submit = useSubmit(form, async () => {
    await onSubmit(text);
    onClose();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        {children && <Text component="div">{children}</Text>}
        <FormAlert failure={submit.failure} />
        <Textarea
          {...form.getInputProps(fieldName)}
          label={label}
          description={description}
          autosize
          minRows={3}
          maxRows={10}
          maxLength={MAX_TEXT_LENGTH}
          data-autofocus
          required
          withAsterisk={false}
        />
        {preview?.(text)}
        <DialogActions action={action} isBusy={submit.isBusy} isDangerous={isDangerous} />
      </Stack>
    </form>
  );
}
