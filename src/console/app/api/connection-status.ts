/** Whether news comes by itself: it may be missing until a subscription stands. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export type ConnectionStatus = "idle" | "connecting" | "live" | "reconnecting" | "refused";

let status: ConnectionStatus = "idle";
/** How many subscriptions have begun, the number of the last being its id, and how often one has come to stand. */
let startedCount = 0;
let subscribedCount = 0;
const listeners = new Set<() => void>();

function setStatus(next: ConnectionStatus): void {
  status = next;
  for (const listener of listeners) listener();
}

/** For the socket's client to tell. */
export const socketEvents = {
  connecting: (isRetry: boolean): void => setStatus(isRetry ? "reconnecting" : "connecting"),
  /** A page has one at a time: the id of the newest. */
  begins(): string {
    startedCount += 1;
    setStatus("connecting");
    return String(startedCount);
  },
  /** From now on the subscription tells of everything. That of a page that was left does not count. */
  stands(id: unknown): void {
    if (id !== String(startedCount)) return;
    subscribedCount += 1;
    setStatus("live");
  },
  /** `done`: nobody subscribes any more; `refused`: the server will not have us. */
  closed: (end: "done" | "lost" | "refused"): void =>
    setStatus(end === "done" ? "idle" : end === "lost" ? "reconnecting" : "refused"),
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnectionStatus(): ConnectionStatus {
  return useSyncExternalStore(subscribe, () => status);
}

/**
 * Calls once a subscription stands, the first time and after each interruption: what happened since the page was read was
 * told to nobody.
 */
export function useOnSubscribed(callback: () => void): void {
  const currentCount = useSyncExternalStore(subscribe, () => subscribedCount);
  const seenCount = useRef(currentCount);
  useEffect(() => {
    if (seenCount.current === currentCount) return;
    seenCount.current = currentCount;
    callback();
  }, [currentCount, callback]);
}

const INITIAL_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 20_000;

/** Longer and longer, never so long that nobody would wait, and not all browsers at once. */
export function waitBeforeRetry(retries: number): Promise<void> {
  const delayMs = Math.min(MAX_RETRY_DELAY_MS, INITIAL_RETRY_DELAY_MS * 2 ** Math.min(retries, 10));
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs * (0.5 + Math.random() / 2));
  });
}
