/** Renders toasts. Loaded after the first page. */
import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.layer.css";

export { notifyError, notifyRepairedLink } from "./notify.tsx";

export function Toasts() {
  return <Notifications position="bottom-right" />;
}
