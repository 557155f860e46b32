/** Toasts in the corner of the page. */
import { notifications } from "@mantine/notifications";
import { errorMessage } from "../api/describe-error.ts";
import type { RemovedValue } from "../search-params.ts";

const closeButtonProps = { "aria-label": "Dismiss" };

export function notify(message: string): void {
  notifications.show({ message, closeButtonProps });
}

/** Stays until the user dismisses it. */
export function notifyError(error: unknown): void {
  notifications.show({
    color: "red",
    title: "Something went wrong",
    message: errorMessage(error),
    autoClose: false,
    closeButtonProps,
  });
}

const MAX_VALUE_LENGTH = 40;

/** Its id makes it appear once per link, although the router parses a link several times. */
export function notifyRepairedLink(removed: readonly RemovedValue[]): void {
  const filters = removed.map(({ name, value }) => `${name}=${truncate(value)}`).join(", ");
  notifications.show({
    id: `repaired-link ${filters}`,
    color: "amber",
    title: "Part of the link was removed",
    message: `Unknown filters were ignored: ${filters}`,
    autoClose: false,
    closeButtonProps,
  });
}

function truncate(value: string): string {
  return value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value;
}
