/** After a step to another page its heading gets the focus, so that a screen reader tells where one is. */
import { useEffect, useRef, type RefObject } from "react";

let isFocusDue = false;

/** To be called when another page is gone to. */
export function announceNavigation(): void {
  isFocusDue = true;
}

/** Names the document after the page, and takes the focus where it is due. */
export function usePageHeading(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Waymark`;
  }, [title]);
  useEffect(() => {
    if (!isFocusDue) return;
    isFocusDue = false;
    heading.current?.focus({ preventScroll: true });
  }, []);
  return heading;
}
