/** Part of "not found" messages: the object may belong to the other mode. */
import { Button, Stack, Text } from "@mantine/core";
import { useMode, useSession } from "../../app/session/session.ts";
import { useSwitchMode } from "../../app/session/use-switch-mode.ts";

/** `isOfTest`: true if the URL is of test data for certain. In live mode nothing else is offered, because live is the usual mode. */
export function OtherModeHint({ what, isOfTest = false }: { what: string; isOfTest?: boolean }) {
  const mode = useMode();
  const { organization } = useSession();
  const switchMode = useSwitchMode();
  if (organization === null || (mode === "live" && !isOfTest) || (mode === "test" && isOfTest)) return null;
  const other = mode === "test" ? "live" : "test";
  return (
    <Stack align="center" gap="xs" mt="sm">
      <Text component="span">
        {mode === "test"
          ? `You are in test mode, which shows no live data. The ${what} may be live.`
          : `This ${what} is test data, which you see in test mode.`}
      </Text>
      <Button variant="default" onClick={() => void switchMode(other)}>
        Switch to {other} mode
      </Button>
    </Stack>
  );
}
