/** Recovery codes for two-factor authentication, shown once. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { downloadText } from "../../app/download.ts";
import { OneTimeSecret } from "../../components/display/one-time-secret.tsx";

export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const text = codes.join("\n");
  return (
    <Stack>
      <Text>
        Each code signs you in once if you don’t have your authenticator app. Store the codes separately from
        your password.
      </Text>
      <OneTimeSecret value={text} label="recovery codes" />
      <Group justify="flex-end">
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden="true" />}
          onClick={() => downloadText("waymark-recovery-codes.txt", `${text}\n`, "text/plain")}
        >
          Download
        </Button>
        <Button onClick={onDone}>I’ve saved them</Button>
      </Group>
    </Stack>
  );
}
