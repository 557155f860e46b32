/** After a step to another page its heading gets the focus, so that a screen reader tells where one is. */
import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";

let shouldFocusHeading = false;

/** To be called when another page is gone to. */
export function requestHeadingFocus(): void {
  shouldFocusHeading = true;
}

/** Names the document after the page, and takes the focus where it is due. */
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
  // A page that was still loading hands its place to the page itself, and the focus with it: else it would be lost.
  useLayoutEffect(() => {
    const own = heading.current;
    return () => {
      if (own !== null && document.activeElement === own) shouldFocusHeading = true;
    };
  }, []);
  return heading;
}
