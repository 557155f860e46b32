/** Opens "Confirm it's you" for a sensitive action that the server rejected, and returns the focus to the action. */
import { lazy, Suspense, useEffect, useRef, useSyncExternalStore } from "react";
import { reauthentication } from "../../app/session/reauthentication.ts";

const Form = lazy(async () => ({
  default: (await import("./reauthentication-form.tsx")).ReauthenticationForm,
}));

export function ReauthenticationDialog() {
  const isOpen = useSyncExternalStore(reauthentication.subscribe, reauthentication.isOpen);
  const lastFocused = useRef<HTMLElement | null>(null);
  useEffect(() => {
    // The dialog may take the focus before React runs this again, hence the store and not `isOpen`.
    const note = ({ target }: FocusEvent): void => {
      if (target instanceof HTMLElement && !reauthentication.isOpen()) lastFocused.current = target;
    };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, []);
  useEffect(() => (isOpen ? () => returnFocus(lastFocused.current) : undefined), [isOpen]);
  return isOpen ? (
    <Suspense>
      <Form />
    </Suspense>
  ) : null;
}

/** A busy button takes the focus only once its request has ended: tries again for about a second. */
function returnFocus(element: HTMLElement | null, frames = 60): void {
  requestAnimationFrame(() => {
    // The user has moved on, or the dialog of the action is gone.
    if (!element?.isConnected || !document.activeElement?.contains(element)) return;
    element.focus();
    if (document.activeElement !== element && frames > 0) returnFocus(element, frames - 1);
  });
}
