/** What went wrong, whoever threw it, in words for a person. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import { ApiError, OfflineError } from "./api.ts";
import { RefusedError } from "./user-errors.ts";

export interface DescribedError {
  title: string;
  message: string;
  /** To quote when asking for help; null: the server gave none. */
  requestId: string | null;
  isOffline: boolean;
}

const UNEXPECTED = "Something unexpected happened. Try again; if it stays, tell whoever runs this service.";

export function describeError(error: unknown): DescribedError {
  if (isOffline(error)) {
    const message = "Waymark cannot be reached. Check your connection and try again.";
    return { title: "No connection", message, requestId: null, isOffline: true };
  }
  const { message, requestId } = words(error);
  return { title: "This did not work", message, requestId, isOffline: false };
}

/** One sentence, for a place beside a button. */
export function errorSentence(error: unknown): string {
  return describeError(error).message;
}

function words(error: unknown): { message: string; requestId: string | null } {
  if (error instanceof RefusedError) return { message: error.message, requestId: null };
  if (error instanceof ApiError) return { message: error.message, requestId: error.requestId };
  if (CombinedGraphQLErrors.is(error)) {
    const [first] = error.errors;
    const requestId = first?.extensions?.["requestId"];
    return {
      message: first?.message ?? UNEXPECTED,
      requestId: typeof requestId === "string" ? requestId : null,
    };
  }
  if (ServerError.is(error)) {
    return { message: UNEXPECTED, requestId: error.response.headers.get("X-Request-Id") };
  }
  return { message: UNEXPECTED, requestId: null };
}

/** `fetch` throws a TypeError where it reaches nobody. */
function isOffline(error: unknown): boolean {
  return (
    error instanceof OfflineError ||
    (error instanceof TypeError && /fetch|network|load failed/i.test(error.message))
  );
}
