/** Short words in the corner, for acts that have no dialog of their own. */
import { notifications } from "@mantine/notifications";
import { errorSentence } from "./describe-error.ts";
import type { LostValue } from "./search.ts";

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

const MAX_VALUE_LENGTH = 40;

/** Shown once per link, although the router reads a link several times. */
export function tellRepairedLink(lost: readonly LostValue[]): void {
  const words = lost.map(({ name, value }) => `${name}=${shortened(value)}`).join(", ");
  notifications.show({
    id: `repaired-link ${words}`,
    color: "amber",
    title: "Part of the link was removed",
    message: `This page has no such filter: ${words}`,
    autoClose: false,
    closeButtonProps,
  });
}

function shortened(value: string): string {
  return value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value;
}
