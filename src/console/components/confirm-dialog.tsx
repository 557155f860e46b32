/** Asks before something that is not undone. The action's words stand on the button, never "OK". */
import { Alert, Modal, Stack, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { errorSentence } from "../app/describe-error.ts";
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

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose, title, children, action, isDangerous = false, onConfirm } = props;
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });
  const close = (): void => {
    setState({ isBusy: false, error: null });
    onClose();
  };
  // What is under way is waited for: its failure would be told nowhere, or in the dialog about something else.
  const dismiss = (): void => {
    if (!state.isBusy) close();
  };
  const confirm = async (): Promise<void> => {
    setState({ isBusy: true, error: null });
    try {
      await onConfirm();
      close();
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return (
    <Modal opened={opened} onClose={dismiss} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text component="div">{children}</Text>
        {state.error !== null && (
          <Alert color="red" role="alert">
            {errorSentence(state.error)}
          </Alert>
        )}
        <DialogActions
          action={action}
          isBusy={state.isBusy}
          isDangerous={isDangerous}
          isFirst={!isDangerous}
          onCancel={dismiss}
          onAct={() => void confirm()}
        />
      </Stack>
    </Modal>
  );
}
