/** What a dialog ends with: the way out of it, and the act, whose own words stand on its button. */
import { Button, Group } from "@mantine/core";
import { useDialogControl } from "../../app/interaction/unsaved-changes.tsx";

interface DialogActionsProps {
  action: string;
  isBusy: boolean;
  isDangerous?: boolean;
  /** Gives the act the focus when the dialog opens. */
  isAutoFocused?: boolean;
  /** Where there is none, the act sends the form that it stands in. */
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

/** Closes the dialog that it is in, like Escape and ×. */
export function CancelButton({ isBusy }: { isBusy: boolean }) {
  const dialog = useDialogControl();
  return (
    <Button variant="default" onClick={() => void dialog?.requestClose()} disabled={isBusy}>
      Cancel
    </Button>
  );
}
