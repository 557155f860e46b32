/** Shows a new API key with example requests. */
import { Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { serverUrl } from "../../../app/api/server-url.ts";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { OneTimeSecret } from "../../../components/display/one-time-secret.tsx";
import type { Scope } from "../../../generated/api-keys.ts";
import { keySnippets } from "./request-snippets.ts";

export interface IssuedKey {
  secret: string;
  scopes: readonly Scope[];
}

interface KeyCreatedProps {
  issued: IssuedKey;
  /** Additional text below the key. */
  children?: React.ReactNode;
  onDone: () => void;
}

export function KeyCreated({ issued: { secret, scopes }, children, onDone }: KeyCreatedProps) {
  const snippets = keySnippets({ toUrl: serverUrl, key: secret, scopes });
  return (
    <Stack ref={focusOnMount} tabIndex={-1} role="group" aria-label="New API key" style={{ outline: "none" }}>
      <OneTimeSecret value={secret} label="API key">
        {children}
      </OneTimeSecret>
      <Stack gap="xs">
        <Text fw={600} fz="sm">
          Try it
        </Text>
        <Tabs defaultValue={snippets[0]?.id} keepMounted={false}>
          <Tabs.List mb="sm">
            {snippets.map(({ id, label }) => (
              <Tabs.Tab key={id} value={id}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {snippets.map(({ id, label, code }) => (
            <Tabs.Panel key={id} value={id}>
              <CodeBlock code={code} label={`${label} request`} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Stack>
      <Group justify="flex-end">
        <Button onClick={onDone}>I’ve saved it</Button>
      </Group>
    </Stack>
  );
}
