/** Actions of a page that the palette starts: it opens the page, and then the page's own dialog. */
import { useEffect, useRef } from "react";

export type PageAction = "create-key" | "create-endpoint" | "invite";

const handlers = new Map<PageAction, () => void>();
let pending: PageAction | null = null;

/** Call it once the page is open. While its code or data loads, the action waits. */
export function startPageAction(action: PageAction): void {
  const start = handlers.get(action);
  if (start) start();
  else pending = action;
}

/** For the page: `start` opens the dialog. */
export function usePageAction(action: PageAction, start: () => void): void {
  const latest = useRef(start);
  useEffect(() => {
    latest.current = start;
  });
  useEffect(() => {
    handlers.set(action, () => latest.current());
    if (pending === action) latest.current();
    pending = null;
    return () => void handlers.delete(action);
  }, [action]);
}
