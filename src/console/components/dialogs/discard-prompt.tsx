/** Asks before unsaved input is lost, or before something stops because its page is left. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";

/** The question that the user answers. */
export interface LossQuestion {
  about: "changed" | "running";
  onAnswer: (isDiscarded: boolean) => void;
}

interface DiscardPromptProps {
  /** Null while the prompt is closed. */
  question: LossQuestion | null;
}

const TEXTS: Record<LossQuestion["about"], Record<"title" | "text" | "keep" | "discard", string>> = {
  changed: {
    title: "Discard your changes?",
    text: "Your changes have not been saved.",
    keep: "Keep editing",
    discard: "Discard",
  },
  running: {
    title: "Stop changing jobs?",
    text: "Jobs that have been changed stay changed. The others stay unchanged.",
    keep: "Keep running",
    discard: "Stop",
  },
};

/** Above the dialog with the unsaved input. */
const Z_INDEX = 300;

export function DiscardPrompt({ question }: DiscardPromptProps) {
  const { title, text, keep, discard } = TEXTS[question?.about ?? "changed"];
  return (
    <Modal
      opened={question !== null}
      onClose={() => question?.onAnswer(false)}
      title={title}
      zIndex={Z_INDEX}
      // Mantine listens on the window, so the Escape that opened the prompt would also close it.
      closeOnEscape={false}
      onKeyDown={({ key }) => {
        if (key === "Escape") question?.onAnswer(false);
      }}
      size="sm"
    >
      <Stack>
        <Text>{text}</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={() => question?.onAnswer(false)}>
            {keep}
          </Button>
          <Button color="red" onClick={() => question?.onAnswer(true)}>
            {discard}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
