/** Moves the focus to the heading after navigation, so that a screen reader announces the new page. */
import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";

let shouldFocusHeading = false;

/** Call it when the path changes. */
export function requestHeadingFocus(): void {
  shouldFocusHeading = true;
}

/** Sets the document title, and focuses the heading after navigation. */
export function usePageHeading(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Waymark`;
  }, [title]);
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
