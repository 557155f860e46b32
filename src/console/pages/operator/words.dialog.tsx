/** Asks for the words that go with an act: a reason, a question. */
import { Stack, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { useSubmit } from "../../app/use-submit.ts";
import { Dialog } from "../../components/dialog.tsx";
import { DialogActions } from "../../components/dialog-actions.tsx";
import { FormAlert } from "../../components/form-alert.tsx";

interface WordsDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What will happen. */
  children?: ReactNode;
  /** What the server calls the words: its refusals go to them. */
  field: string;
  label: string;
  description: string;
  action: string;
  isDangerous?: boolean;
  /** What somebody will be sent. */
  preview?: (words: string) => ReactNode;
  /** Throws where it is refused. */
  onWords: (words: string) => Promise<void>;
}

const MAX_WORDS = 2_000;

export function WordsDialog({ opened, onClose, title, ...form }: WordsDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title} size="lg">
      <WordsForm onClose={onClose} {...form} />
    </Dialog>
  );
}

function WordsForm(props: Omit<WordsDialogProps, "opened" | "title">) {
  const {
    onClose,
    children,
    field,
    label,
    description,
    action,
    isDangerous = false,
    preview,
    onWords,
  } = props;
  const form = useForm<Record<string, string>>({ initialValues: { [field]: "" } });
  const words = form.values[field] ?? "";
  const submit = useSubmit(form, async () => {
    await onWords(words);
    onClose();
  });
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        {children && <Text component="div">{children}</Text>}
        <FormAlert message={submit.failure} />
        <Textarea
          {...form.getInputProps(field)}
          label={label}
          description={description}
          autosize
          minRows={3}
          maxRows={10}
          maxLength={MAX_WORDS}
          data-autofocus
          required
          withAsterisk={false}
        />
        {preview?.(words)}
        <DialogActions action={action} isBusy={submit.isBusy} isDangerous={isDangerous} />
      </Stack>
    </form>
  );
}
