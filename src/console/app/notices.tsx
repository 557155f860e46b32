/** Where `notifications.show` tells what was done. A chunk of its own: nothing has been done when a page is first drawn. */
import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.css";

export { tellFailure, tellRepairedLink } from "./tell.ts";

export function Notices() {
  return <Notifications position="bottom-right" />;
}
