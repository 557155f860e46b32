/** Moves the focus to the heading after navigation, so that a screen reader announces the new page. */
import { createContext, use, useEffect, useLayoutEffect, useRef, type RefObject } from "react";

/** True inside a panel, which shows the content of a page next to another page. */
export const InPanel = createContext(false);

let shouldFocusHeading = false;

/** Call it when the path changes. */
export function requestHeadingFocus(): void {
  shouldFocusHeading = true;
}

/** Sets the document title, except of a panel, and focuses the heading after navigation. */
export function usePageHeading(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const isInPanel = use(InPanel);
  useEffect(() => {
    if (!isInPanel) document.title = `${title} · Waymark`;
  }, [title, isInPanel]);
  useEffect(() => {
    if (!shouldFocusHeading) return;
    shouldFocusHeading = false;
    heading.current?.focus({ preventScroll: true });
  }, []);
  // When a loaded page replaces its loading state, the new heading takes the focus over.
  useLayoutEffect(() => {
    const element = heading.current;
    return () => {
      if (element !== null && document.activeElement === element) shouldFocusHeading = true;
    };
  }, []);
  return heading;
}
