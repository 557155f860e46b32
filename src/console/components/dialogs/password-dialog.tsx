/** Asks for the user's password before a sensitive action. */
import { Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { Dialog } from "./dialog.tsx";
import { DialogActions } from "./dialog-actions.tsx";
import { FormAlert } from "../forms/form-alert.tsx";
import { PasswordField } from "../forms/password-field.tsx";

interface PasswordDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  /** Label of the button. */
  action: string;
  isDangerous?: boolean;
  /** On success it closes the dialog or shows the next step; an error it throws is shown in the dialog. */
  onPassword: (password: string) => Promise<void>;
}

export function PasswordDialog({ opened, onClose, title, ...form }: PasswordDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <PasswordForm {...form} />
    </Dialog>
  );
}

type PasswordFormProps = Omit<PasswordDialogProps, "opened" | "onClose" | "title">;

/** The content alone, for dialogs with several steps. */
export function PasswordForm({ children, action, isDangerous = false, onPassword }: PasswordFormProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "" } });
  const submit = useSubmit(form, ({ password }) => onPassword(password));
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text component="div">{children}</Text>
        <FormAlert failure={submit.failure} />
        <PasswordField
          key={form.key("password")}
          {...form.getInputProps("password")}
          label="Your password"
          autoComplete="current-password"
          data-autofocus
          required
        />
        <DialogActions action={action} isBusy={submit.isBusy} isDangerous={isDangerous} />
      </Stack>
    </form>
  );
}
