/** Shows a new signing secret and how to use it. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { focusOnMount } from "../../../../app/interaction/focus-on-mount.ts";
import { CodeBlock } from "../../../../components/display/code-block.tsx";
import { ReceiverTabs } from "./receiver-tabs.tsx";

interface SecretCreatedProps {
  secret: string;
  url: string;
  /** Shown above the example receivers. */
  children?: React.ReactNode;
  /** Label of the button that closes the dialog. */
  action: string;
  onDone: () => void;
}

export function SecretCreated({ secret, url, children, action, onDone }: SecretCreatedProps) {
  return (
    <Stack
      ref={focusOnMount}
      tabIndex={-1}
      role="group"
      aria-label="Signing secret"
      style={{ outline: "none" }}
    >
      <Text>
        Copy it now and store it in your secret manager. Your receiver uses it to verify that requests come
        from Waymark. To see it again later, you must enter your password.
      </Text>
      <CodeBlock code={secret} label="new secret" wrap />
      {children}
      <ReceiverTabs url={url} labelSuffix=" for the new secret" />
      <Group justify="flex-end">
        <Button onClick={onDone}>{action}</Button>
      </Group>
    </Stack>
  );
}
