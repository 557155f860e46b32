/** Opens "Confirm it's you" when the server rejects a sensitive action, and then returns the focus. */
import { lazy, Suspense, useEffect, useRef, useSyncExternalStore } from "react";
import { reauthentication } from "../../app/session/reauthentication.ts";

const Form = lazy(async () => ({
  default: (await import("./reauthentication-form.tsx")).ReauthenticationForm,
}));

export function ReauthenticationDialog() {
  const isOpen = useSyncExternalStore(reauthentication.subscribe, reauthentication.isOpen);
  const lastFocused = useRef<HTMLElement | null>(null);
  useEffect(() => {
    // Reads the store because the dialog may take the focus before React updates `isOpen`.
    const rememberFocus = ({ target }: FocusEvent): void => {
      if (target instanceof HTMLElement && !reauthentication.isOpen()) lastFocused.current = target;
    };
    document.addEventListener("focusin", rememberFocus);
    return () => document.removeEventListener("focusin", rememberFocus);
  }, []);
  useEffect(() => (isOpen ? () => returnFocus(lastFocused.current) : undefined), [isOpen]);
  return isOpen ? (
    <Suspense>
      <Form />
    </Suspense>
  ) : null;
}

/** A busy button cannot take the focus, so this retries for about a second. */
function returnFocus(element: HTMLElement | null, frames = 60): void {
  requestAnimationFrame(() => {
    // The user moved the focus, or the element is gone.
    if (!element?.isConnected || !document.activeElement?.contains(element)) return;
    element.focus();
    if (document.activeElement !== element && frames > 0) returnFocus(element, frames - 1);
  });
}
