/** A secret that is shown only once. */
import { Stack, Text } from "@mantine/core";
import { IconEyeExclamation } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Alert } from "../status/alert.tsx";
import { CodeBlock } from "./code-block.tsx";

interface OneTimeSecretProps {
  value: string;
  /** Names the secret, such as "API key". */
  label: string;
  children?: ReactNode;
}

export function OneTimeSecret({ value, label, children }: OneTimeSecretProps) {
  return (
    <Stack gap="sm">
      <Alert
        color="amber"
        icon={<IconEyeExclamation aria-hidden="true" />}
        title="Shown only once"
        guide={null}
      >
        Copy it now and store it in your secret manager. It can’t be shown again.
      </Alert>
      <CodeBlock code={value} label={label} wrap />
      {children && <Text fz="sm">{children}</Text>}
    </Stack>
  );
}
