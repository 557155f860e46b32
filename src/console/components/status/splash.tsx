/** Shown before the session is loaded. */
import { Center, Loader } from "@mantine/core";

export function Splash() {
  return (
    <Center component="main" mih="100dvh">
      <Loader type="dots" aria-label="Loading" />
    </Center>
  );
}
