/** Short words in the corner, for acts that have no dialog of their own. */
import { notifications } from "@mantine/notifications";
import { errorSentence } from "./describe-error.ts";

const closeButtonProps = { "aria-label": "Dismiss" };

export function tell(message: string): void {
  notifications.show({ message, closeButtonProps });
}

/** It stays until it is read. */
export function tellFailure(error: unknown): void {
  notifications.show({
    color: "red",
    title: "This did not work",
    message: errorSentence(error),
    autoClose: false,
    closeButtonProps,
  });
}
