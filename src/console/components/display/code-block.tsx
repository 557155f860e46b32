/**
 * Preformatted text with a copy button: a command, a body, headers. It can be focused, so that keyboard users can
 * scroll it.
 */
/* oxlint-disable jsx-a11y/no-noninteractive-tabindex -- see above */
import { Box } from "@mantine/core";
import { CopyButton } from "./copy-button.tsx";
import classes from "./code-block.module.css";

interface CodeBlockProps {
  code: string;
  /** Names the content for the copy button and for screen readers, such as "curl command". */
  label: string;
  /** Wraps long lines. By default they scroll. */
  wrap?: boolean;
}

export function CodeBlock({ code, label, wrap = false }: CodeBlockProps) {
  return (
    <Box className={classes.root}>
      <pre
        className={classes.code}
        data-wrap={wrap || undefined}
        tabIndex={0}
        role="group"
        aria-label={label}
      >
        <code>{code}</code>
      </pre>
      <div className={classes.copy}>
        <CopyButton value={code} label={label} />
      </div>
    </Box>
  );
}
