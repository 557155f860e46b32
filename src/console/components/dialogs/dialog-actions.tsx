/** The buttons at the end of a dialog: Cancel and the action. */
import { Button, Group } from "@mantine/core";
import { useDialogControl } from "../../app/interaction/unsaved-changes.tsx";

interface DialogActionsProps {
  action: string;
  isBusy: boolean;
  isDangerous?: boolean;
  /** Focuses the action button when the dialog opens. */
  isAutoFocused?: boolean;
  /** Without it, the action button submits the form around it. */
  onAction?: () => void;
}

export function DialogActions(props: DialogActionsProps) {
  const { action, isBusy, isDangerous = false, isAutoFocused = false, onAction } = props;
  return (
    <Group justify="flex-end">
      <CancelButton isBusy={isBusy} />
      <Button
        type={onAction ? "button" : "submit"}
        color={isDangerous ? "red" : "spruce"}
        loading={isBusy}
        onClick={onAction}
        data-autofocus={isAutoFocused || undefined}
      >
        {action}
      </Button>
    </Group>
  );
}

/** Closes the surrounding dialog, like Escape and ×. */
export function CancelButton({ isBusy }: { isBusy: boolean }) {
  const dialog = useDialogControl();
  return (
    <Button variant="default" onClick={() => void dialog?.requestClose()} disabled={isBusy}>
      Cancel
    </Button>
  );
}
