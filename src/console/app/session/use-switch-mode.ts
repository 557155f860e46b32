/** Switches between live and test mode. */
import { useUnsavedChanges } from "../interaction/unsaved-changes.tsx";
import { api } from "../api/client.ts";
import type { Mode } from "./mode.ts";
import { useSessionStore } from "./session.ts";

/**
 * Returns a function that resolves to true once the mode is on. It asks before unsaved input is lost, and shows the server's
 * reason if the organisation has no test data and the user may not create it.
 */
export function useSwitchMode(): (mode: Mode) => Promise<boolean> {
  const store = useSessionStore();
  const { confirmLeave } = useUnsavedChanges();
  return async (mode) => {
    try {
      if (mode === "test") await api.post("auth/test-mode");
    } catch (error) {
      await showError(error);
      return false;
    }
    if (!(await confirmLeave())) return false;
    store.setMode(mode);
    return true;
  };
}

async function showError(error: unknown): Promise<void> {
  const { notifyError } = await import("../interaction/toasts.tsx");
  // On a phone the modal menu would cover the toast.
  document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
  notifyError(error);
}
