/** What a dialog ends with: the way out of it, and the act, whose own words stand on its button. */
import { Button, Group } from "@mantine/core";

interface DialogActionsProps {
  action: string;
  isBusy: boolean;
  isDangerous?: boolean;
  /** Gives the act the focus when the dialog opens. */
  isFirst?: boolean;
  onCancel: () => void;
  /** Where there is none, the act sends the form that it stands in. */
  onAct?: () => void;
}

export function DialogActions(props: DialogActionsProps) {
  const { action, isBusy, isDangerous = false, isFirst = false, onCancel, onAct } = props;
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel} disabled={isBusy}>
        Cancel
      </Button>
      <Button
        type={onAct ? "button" : "submit"}
        color={isDangerous ? "red" : "spruce"}
        loading={isBusy}
        onClick={onAct}
        data-autofocus={isFirst || undefined}
      >
        {action}
      </Button>
    </Group>
  );
}
