/** Asks for one's password again before something that matters. */
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
  /** What the button says. */
  action: string;
  isDangerous?: boolean;
  /** Throws where it is refused, which is told inside. It closes the dialog itself, or shows what comes next. */
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

/** Also for a dialog with further steps. The password is dropped with the form. */
export function PasswordForm({ children, action, isDangerous = false, onPassword }: PasswordFormProps) {
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "" } });
  const submit = useSubmit(form, ({ password }) => onPassword(password));
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack>
        <Text component="div">{children}</Text>
        <FormAlert message={submit.failure} />
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
