/** A secret that the server shows once: copied here, or lost. */
import { Alert, Stack, Text } from "@mantine/core";
import { IconEyeExclamation } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { CodeBlock } from "./code-block.tsx";

interface OneTimeSecretProps {
  value: string;
  /** What it is, such as "API key". */
  label: string;
  children?: ReactNode;
}

export function OneTimeSecret({ value, label, children }: OneTimeSecretProps) {
  return (
    <Stack gap="sm">
      <Alert color="amber" icon={<IconEyeExclamation aria-hidden="true" />} title="Shown this once">
        Copy it now and keep it where secrets are kept. It cannot be shown again.
      </Alert>
      <CodeBlock code={value} label={label} wrap />
      {children && <Text fz="sm">{children}</Text>}
    </Stack>
  );
}
