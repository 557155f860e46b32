/** Toasts in the corner of the page. */
import { notifications } from "@mantine/notifications";
import { ErrorGuideLink } from "../../components/layout/guide-link.tsx";
import { describeError, type Failure } from "../api/describe-error.ts";
import type { RemovedValue } from "../search-params.ts";

const closeButtonProps = { "aria-label": "Dismiss" };

export function notify(message: string): void {
  notifications.show({ message, closeButtonProps });
}

export function notifyError(error: unknown): void {
  const { title, ...failure } = describeError(error);
  notifyProblem({ color: "red", title, failure });
}

const MAX_VALUE_LENGTH = 40;

/** Its id makes it appear once per link, although the router parses a link several times. */
export function notifyRepairedLink(removed: readonly RemovedValue[]): void {
  const filters = removed.map(({ name, value }) => `${name}=${truncate(value)}`).join(", ");
  notifyProblem({
    id: `repaired-link ${filters}`,
    color: "amber",
    title: "Part of the link was removed",
    failure: { message: `Unknown filters were ignored: ${filters}`, guide: "screen" },
  });
}

interface Problem {
  id?: string;
  color: string;
  title: string;
  failure: Failure;
}

/** Stays until the user dismisses it. */
function notifyProblem({ failure: { message, guide }, ...toast }: Problem): void {
  notifications.show({
    ...toast,
    message: (
      <>
        {message}
        <ErrorGuideLink guide={guide} mt={4} />
      </>
    ),
    autoClose: false,
    closeButtonProps,
  });
}

function truncate(value: string): string {
  return value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value;
}
