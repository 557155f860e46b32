/** In the middle of an empty window, before there is anything to show in it. */
import { Center, Loader } from "@mantine/core";

export function Splash() {
  return (
    <Center component="main" mih="100dvh">
      <Loader type="dots" aria-label="Loading" />
    </Center>
  );
}
