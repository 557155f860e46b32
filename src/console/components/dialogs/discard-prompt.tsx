/** Asks before unsaved input is lost or work in progress is stopped. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { LeaveQuestion } from "../../app/interaction/leave-question.ts";

interface DiscardPromptProps {
  question: LeaveQuestion;
  /** Null while the prompt is closed. */
  onAnswer: ((isDiscarded: boolean) => void) | null;
}

/** Above the dialog with the unsaved input. */
const Z_INDEX = 300;

export function DiscardPrompt({ question, onAnswer }: DiscardPromptProps) {
  return (
    <Modal
      opened={onAnswer !== null}
      onClose={() => onAnswer?.(false)}
      title={question.title}
      zIndex={Z_INDEX}
      // Mantine listens on the window, so the Escape that opened the prompt would also close it.
      closeOnEscape={false}
      onKeyDown={({ key }) => {
        if (key === "Escape") onAnswer?.(false);
      }}
      size="sm"
    >
      <Stack>
        <Text>{question.text}</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={() => onAnswer?.(false)}>
            {question.stay}
          </Button>
          <Button color="red" onClick={() => onAnswer?.(true)}>
            {question.leave}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
