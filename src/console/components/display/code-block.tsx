/** Text that is to be read as it is, and copied: a command, a body, a header. What scrolls is reached by the keyboard. */
/* oxlint-disable jsx-a11y/no-noninteractive-tabindex -- as said above */
import { Box } from "@mantine/core";
import { CopyButton } from "./copy-button.tsx";
import classes from "./code-block.module.css";

interface CodeBlockProps {
  code: string;
  /** What it is, such as "curl command": for the copy button and screen readers. */
  label: string;
  /** Breaks long lines; they scroll unless said. */
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
