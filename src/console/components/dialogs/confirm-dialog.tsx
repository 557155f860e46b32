/** Asks for confirmation. The button names the action ("Remove member"), never "OK". */
import { Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { describeError } from "../../app/api/describe-error.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "./dialog.tsx";
import { FormAlert } from "../forms/form-alert.tsx";
import { DialogActions } from "./dialog-actions.tsx";

interface ConfirmDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What the action does, and what cannot be undone. */
  children: ReactNode;
  /** Label of the button, such as "Remove member". */
  action: string;
  isDangerous?: boolean;
  /** The dialog closes once it resolves, and shows the error if it rejects. */
  onConfirm: () => Promise<unknown>;
}

export function ConfirmDialog({ opened, title, ...form }: ConfirmDialogProps) {
  return (
    <Dialog opened={opened} onClose={form.onClose} title={title}>
      <ConfirmForm {...form} />
    </Dialog>
  );
}

type ConfirmFormProps = Omit<ConfirmDialogProps, "opened" | "title" | "onClose"> & {
  onClose?: () => void;
};

/** The content alone, for dialogs with several steps. */
export function ConfirmForm(props: ConfirmFormProps) {
  const { onClose, children, action, isDangerous = false, onConfirm } = props;
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });
  useUnsavedInput(() => (state.isBusy ? "locked" : "clean"));
  const confirm = async (): Promise<void> => {
    setState({ isBusy: true, error: null });
    try {
      await onConfirm();
      onClose?.();
      setState({ isBusy: false, error: null });
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return (
    <Stack>
      <Text component="div">{children}</Text>
      <FormAlert failure={state.error === null ? null : describeError(state.error)} />
      <DialogActions
        action={action}
        isBusy={state.isBusy}
        isDangerous={isDangerous}
        isAutoFocused={!isDangerous}
        onAction={() => void confirm()}
      />
    </Stack>
  );
}
