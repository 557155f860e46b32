/** Turns anything thrown into a title and a message that users can read. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import { consoleErrorGuide, type GuidePage } from "../guide/guide-pages.ts";
import { ApiError, OfflineError } from "./client.ts";
import { PasskeyError } from "../session/passkeys.ts";
import { UserErrorsError } from "./user-errors.ts";

export interface Failure {
  message: string;
  /** The page of the guide to link: `screen` is the one about the screen. Null without a connection. */
  guide: GuidePage | "screen" | null;
}

export interface ErrorDescription extends Failure {
  title: string;
  /** Shown so that users can quote it to support; null if the response had none. */
  requestId: string | null;
  isOffline: boolean;
}

const UNEXPECTED_MESSAGE =
  "An unexpected error occurred. Try again. If the problem persists, contact the operator of this service.";

export function describeError(error: unknown): ErrorDescription {
  if (isOffline(error)) {
    const message = "Waymark cannot be reached. Check your connection and try again.";
    return { title: "No connection", message, requestId: null, guide: null, isOffline: true };
  }
  return { title: "Something went wrong", ...extractMessage(error), isOffline: false };
}

function extractMessage(error: unknown): Failure & { requestId: string | null } {
  if (error instanceof UserErrorsError || error instanceof PasskeyError)
    return { message: error.message, requestId: null, guide: "screen" };
  if (error instanceof ApiError) {
    const { message, requestId, status } = error;
    return { message, requestId, guide: consoleErrorGuide(status) ?? "screen" };
  }
  if (CombinedGraphQLErrors.is(error)) {
    const [first] = error.errors;
    const { requestId, code } = first?.extensions ?? {};
    return {
      message: first?.message ?? UNEXPECTED_MESSAGE,
      requestId: typeof requestId === "string" ? requestId : null,
      guide: consoleErrorGuide(String(code)) ?? "screen",
    };
  }
  if (ServerError.is(error)) {
    const requestId = error.response.headers.get("X-Request-Id");
    return { message: UNEXPECTED_MESSAGE, requestId, guide: consoleErrorGuide(error.statusCode) ?? "screen" };
  }
  return { message: UNEXPECTED_MESSAGE, requestId: null, guide: "screen" };
}

/** True if GraphQL refused an argument. */
export function isInvalidInput(error: unknown): boolean {
  return (
    CombinedGraphQLErrors.is(error) &&
    error.errors.some(({ extensions }) => extensions?.["code"] === "BAD_USER_INPUT")
  );
}

/** `fetch` throws a TypeError if it cannot connect. */
function isOffline(error: unknown): boolean {
  return (
    error instanceof OfflineError ||
    (error instanceof TypeError && /fetch|network|load failed/i.test(error.message))
  );
}
