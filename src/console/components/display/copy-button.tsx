/** Copies a text to the clipboard and confirms it. */
import { ActionIcon, Button, CopyButton as Copying, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

interface CopyButtonProps {
  value: string;
  /** Names the copied text, such as "Marking Number". */
  label: string;
  /** Shows a label. By default the button is an icon. */
  wide?: boolean;
}

export function CopyButton({ value, label, wide = false }: CopyButtonProps) {
  return (
    <Copying value={value} timeout={2_000}>
      {({ copied, copy }) => {
        const Picture = copied ? IconCheck : IconCopy;
        const text = copied ? "Copied" : `Copy ${label}`;
        if (wide) {
          return (
            <Button variant="default" onClick={copy} leftSection={<Picture size={16} aria-hidden="true" />}>
              <span aria-live="polite">{text}</span>
            </Button>
          );
        }
        return (
          <Tooltip label={text}>
            <ActionIcon size="sm" onClick={copy} aria-label={text} aria-live="polite">
              <Picture size={15} aria-hidden="true" />
            </ActionIcon>
          </Tooltip>
        );
      }}
    </Copying>
  );
}
