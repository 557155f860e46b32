/** Turns anything thrown into a title and a message that users can read. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import { ApiError, OfflineError } from "./client.ts";
import { UserErrorsError } from "./user-errors.ts";

export interface ErrorDescription {
  title: string;
  message: string;
  /** Shown so that users can quote it to support; null if the response had none. */
  requestId: string | null;
  isOffline: boolean;
}

const UNEXPECTED_MESSAGE =
  "An unexpected error occurred. Try again. If the problem persists, contact the operator of this service.";

export function describeError(error: unknown): ErrorDescription {
  if (isOffline(error)) {
    const message = "Waymark cannot be reached. Check your connection and try again.";
    return { title: "No connection", message, requestId: null, isOffline: true };
  }
  const { message, requestId } = extractMessage(error);
  return { title: "Something went wrong", message, requestId, isOffline: false };
}

/** The message alone, for use in forms and dialogs. */
export function errorMessage(error: unknown): string {
  return describeError(error).message;
}

function extractMessage(error: unknown): { message: string; requestId: string | null } {
  if (error instanceof UserErrorsError) return { message: error.message, requestId: null };
  if (error instanceof ApiError) return { message: error.message, requestId: error.requestId };
  if (CombinedGraphQLErrors.is(error)) {
    const [first] = error.errors;
    const requestId = first?.extensions?.["requestId"];
    return {
      message: first?.message ?? UNEXPECTED_MESSAGE,
      requestId: typeof requestId === "string" ? requestId : null,
    };
  }
  if (ServerError.is(error)) {
    return { message: UNEXPECTED_MESSAGE, requestId: error.response.headers.get("X-Request-Id") };
  }
  return { message: UNEXPECTED_MESSAGE, requestId: null };
}

/** `fetch` throws a TypeError if it cannot connect. */
function isOffline(error: unknown): boolean {
  return (
    error instanceof OfflineError ||
    (error instanceof TypeError && /fetch|network|load failed/i.test(error.message))
  );
}
