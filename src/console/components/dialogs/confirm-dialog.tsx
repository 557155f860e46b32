/** Asks before something that is not undone. The action's words stand on the button, never "OK". */
import { Alert, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { errorMessage } from "../../app/api/describe-error.ts";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "./dialog.tsx";
import { DialogActions } from "./dialog-actions.tsx";

interface ConfirmDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What will happen, and what will not come back. */
  children: ReactNode;
  /** What the button says: "Remove member". */
  action: string;
  isDangerous?: boolean;
  /** Closes the dialog when it is done; what it throws is told inside it. */
  onConfirm: () => Promise<unknown>;
}

export function ConfirmDialog({ opened, title, ...question }: ConfirmDialogProps) {
  return (
    <Dialog opened={opened} onClose={question.onClose} title={title}>
      <ConfirmForm {...question} />
    </Dialog>
  );
}

type ConfirmFormProps = Omit<ConfirmDialogProps, "opened" | "title" | "onClose"> & {
  onClose?: () => void;
};

/** Also for a dialog with further steps, which stays open. */
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
      {state.error !== null && (
        <Alert color="red" role="alert">
          {errorMessage(state.error)}
        </Alert>
      )}
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
