/** Where `notifications.show` tells what was done. A chunk of its own: nothing has been done when a page is first drawn. */
import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.css";

export { notifyError as tellFailure, notifyRepairedLink as tellRepairedLink } from "./notify.ts";

export function Toasts() {
  return <Notifications position="bottom-right" />;
}
