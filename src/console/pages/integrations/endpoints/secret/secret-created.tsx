/** An endpoint's secret that was just made, with what it is for. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { focusOnMount } from "../../../../app/interaction/focus-on-mount.ts";
import { CodeBlock } from "../../../../components/display/code-block.tsx";
import { ReceiverTabs } from "./receiver-tabs.tsx";

interface SecretCreatedProps {
  secret: string;
  /** The endpoint's. */
  url: string;
  /** Before the receivers. */
  children?: React.ReactNode;
  /** What the button says that ends it. */
  action: string;
  onDone: () => void;
}

export function SecretCreated({ secret, url, children, action, onDone }: SecretCreatedProps) {
  return (
    <Stack ref={focusOnMount} tabIndex={-1} role="group" aria-label="The secret" style={{ outline: "none" }}>
      <Text>
        Copy it now and keep it where secrets are kept. Your receiver knows by it that a request is ours.
        Later it is shown only to who enters their password again.
      </Text>
      <CodeBlock code={secret} label="new secret" wrap />
      {children}
      <ReceiverTabs url={url} of=" for the new secret" />
      <Group justify="flex-end">
        <Button onClick={onDone}>{action}</Button>
      </Group>
    </Stack>
  );
}
