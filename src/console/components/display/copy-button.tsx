/** Puts a text on the clipboard and says so. */
import { ActionIcon, Button, CopyButton as Copying, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

interface CopyButtonProps {
  value: string;
  /** What is copied, such as "Marking Number". */
  label: string;
  /** With words on it; an icon alone unless said. */
  wide?: boolean;
}

export function CopyButton({ value, label, wide = false }: CopyButtonProps) {
  return (
    <Copying value={value} timeout={2_000}>
      {({ copied, copy }) => {
        const Picture = copied ? IconCheck : IconCopy;
        const words = copied ? "Copied" : `Copy ${label}`;
        if (wide) {
          return (
            <Button variant="default" onClick={copy} leftSection={<Picture size={16} aria-hidden="true" />}>
              <span aria-live="polite">{words}</span>
            </Button>
          );
        }
        return (
          <Tooltip label={words}>
            <ActionIcon size="sm" onClick={copy} aria-label={words} aria-live="polite">
              <Picture size={15} aria-hidden="true" />
            </ActionIcon>
          </Tooltip>
        );
      }}
    </Copying>
  );
}
