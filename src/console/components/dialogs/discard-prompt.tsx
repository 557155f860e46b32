/** Asks before unsaved input is lost. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";

interface DiscardPromptProps {
  /** Null while the prompt is closed. */
  onAnswer: ((isDiscarded: boolean) => void) | null;
}

/** Above the dialog with the unsaved input. */
const Z_INDEX = 300;

export function DiscardPrompt({ onAnswer }: DiscardPromptProps) {
  return (
    <Modal
      opened={onAnswer !== null}
      onClose={() => onAnswer?.(false)}
      title="Discard your changes?"
      zIndex={Z_INDEX}
      // Mantine listens on the window, so the Escape that opened the prompt would also close it.
      closeOnEscape={false}
      onKeyDown={({ key }) => {
        if (key === "Escape") onAnswer?.(false);
      }}
      size="sm"
    >
      <Stack>
        <Text>Your changes have not been saved.</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={() => onAnswer?.(false)}>
            Keep editing
          </Button>
          <Button color="red" onClick={() => onAnswer?.(true)}>
            Discard
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
