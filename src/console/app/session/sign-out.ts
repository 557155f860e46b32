import { api, ApiError } from "../api/client.ts";
import { serverUrl } from "../api/server-url.ts";

/** Ends the session. The page is loaded anew, so that nothing of it stays in memory and no socket stays open. */
export async function signOut(): Promise<void> {
  try {
    await api.anonymous.post("auth/sign-out");
  } catch (error) {
    // Whoever leaves a shared computer has to know that the session still stands.
    if (!isSessionExpired(error)) return showError(error);
  }
  window.location.assign(serverUrl("sign-in"));
  return undefined;
}

/** The session had ended already, or is good for nothing. */
function isSessionExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** From a chunk that the page has loaded already: the network may be what is missing. */
async function showError(error: unknown): Promise<void> {
  const { tellFailure } = await import("../interaction/toasts.tsx");
  tellFailure(error);
}
