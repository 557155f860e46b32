import { api, ApiError } from "../api/client.ts";
import { serverUrl } from "../api/server-url.ts";

/** Ends the session and reloads the page, which clears memory and closes sockets. */
export async function signOut(): Promise<void> {
  try {
    await api.anonymous.post("auth/sign-out");
  } catch (error) {
    // On a shared computer users must know that they are still signed in.
    if (!isSessionExpired(error)) return showError(error);
  }
  window.location.assign(serverUrl("sign-in"));
  return undefined;
}

/** True if there is no valid session to end. */
function isSessionExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** Uses a chunk that is already loaded, because the network may be down. */
async function showError(error: unknown): Promise<void> {
  const { notifyError } = await import("../interaction/toasts.tsx");
  // On a phone the modal menu would cover the toast.
  document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
  notifyError(error);
}
