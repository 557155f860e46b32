import { useUnsavedChanges } from "../interaction/unsaved-changes.tsx";
import { signOut } from "./sign-out.ts";

/** Returns a function that signs out. It asks before unsaved input is lost. */
export function useSignOut(): () => Promise<void> {
  const { confirmLeave } = useUnsavedChanges();
  return async () => {
    if (await confirmLeave()) await signOut();
  };
}
