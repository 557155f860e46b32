/** What went wrong, whoever threw it, in words for a person. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import { ApiError, OfflineError } from "./client.ts";
import { UserErrorsError } from "./user-errors.ts";

export interface ErrorDescription {
  title: string;
  message: string;
  /** To quote when asking for help; null: the server gave none. */
  requestId: string | null;
  isOffline: boolean;
}

const UNEXPECTED_MESSAGE =
  "Something unexpected happened. Try again; if it stays, tell whoever runs this service.";

export function describeError(error: unknown): ErrorDescription {
  if (isOffline(error)) {
    const message = "Waymark cannot be reached. Check your connection and try again.";
    return { title: "No connection", message, requestId: null, isOffline: true };
  }
  const { message, requestId } = extractMessage(error);
  return { title: "This did not work", message, requestId, isOffline: false };
}

/** One sentence, for a place beside a button. */
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

/** `fetch` throws a TypeError where it reaches nobody. */
function isOffline(error: unknown): boolean {
  return (
    error instanceof OfflineError ||
    (error instanceof TypeError && /fetch|network|load failed/i.test(error.message))
  );
}
