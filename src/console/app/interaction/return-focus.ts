/**
 * Returns the focus to the control that opened a dialog, or to the page's heading if that control is gone (WCAG
 * 2.4.3).
 */
import { useLayoutEffect, type RefObject } from "react";

/** Mantine's own dialogs return the focus after 10 ms; the outermost dialog does it last. */
const FOCUS_DELAY_MS = 30;

let lastPressed: HTMLElement | null = null;

/**
 * Records the control that was pressed last. `document.activeElement` is not enough: Safari does not focus a clicked
 * button, and a menu item is removed before its dialog opens.
 */
export function trackLastPressed(): void {
  document.addEventListener("click", ({ target }) => void (lastPressed = findControl(target)), {
    capture: true,
  });
}

/** For a menu item, returns the button that opened the menu. */
function findControl(target: EventTarget | null): HTMLElement | null {
  if (!(target instanceof Element)) return null;
  const menuButtonId = target.closest("[role=menu]")?.getAttribute("aria-labelledby");
  if (menuButtonId) return document.querySelector<HTMLElement>(`#${CSS.escape(menuButtonId)}`);
  return target.closest<HTMLElement>("button, a");
}

export function useReturnFocus(isOpen: boolean, content: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const opener = lastPressed;
    return () => void window.setTimeout(() => returnFocusTo(opener, content), FOCUS_DELAY_MS);
  }, [isOpen, content]);
}

/** A click outside moves the focus to the body; Tab would then reach the page behind the dialog. */
export function restoreFocusInside(content: RefObject<HTMLElement | null>): void {
  window.setTimeout(() => {
    if (document.activeElement !== document.body) return;
    content.current?.querySelector<HTMLElement>("[role=dialog]")?.focus({ preventScroll: true });
  }, FOCUS_DELAY_MS);
}

/** Focuses the opener, or the heading of the page, if the focus was in the content or is nowhere. */
export function returnFocusTo(opener: HTMLElement | null, content: RefObject<HTMLElement | null>): void {
  const active = document.activeElement;
  const isLost = active === null || active === document.body || content.current?.contains(active);
  if (!isLost) return;
  opener?.focus({ preventScroll: true });
  if (opener === null || document.activeElement !== opener)
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
}
