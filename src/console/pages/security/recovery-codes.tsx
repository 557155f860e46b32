/** The codes for when the phone is lost, shown once. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { downloadText } from "../../app/download.ts";
import { OneTimeSecret } from "../../components/display/one-time-secret.tsx";

export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const text = codes.join("\n");
  return (
    <Stack>
      <Text>
        Each of these signs you in once, in the place of the app&rsquo;s code. Keep them apart from your
        password.
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
        <Button onClick={onDone}>I have kept them</Button>
      </Group>
    </Stack>
  );
}
