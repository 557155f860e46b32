/** Whether the socket of the subscriptions stands: news may be missing while it does not. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export type LiveState = "idle" | "connecting" | "live" | "reconnecting" | "refused";

let state: LiveState = "idle";
const listeners = new Set<() => void>();

function become(next: LiveState): void {
  state = next;
  for (const listener of listeners) listener();
}

/** For the socket's client to tell. */
export const liveEvents = {
  connecting: (isRetry: boolean): void => become(isRetry ? "reconnecting" : "connecting"),
  connected: (): void => become("live"),
  /** `isOver`: nobody subscribes any more, or the server will not have us. */
  closed: (end: "done" | "lost" | "refused"): void =>
    become(end === "done" ? "idle" : end === "lost" ? "reconnecting" : "refused"),
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(subscribe, () => state);
}

/** Calls when the socket is back after it was lost: what happened meanwhile was not told. */
export function useWhenLiveAgain(act: () => void): void {
  const live = useLiveState();
  const wasLost = useRef(false);
  useEffect(() => {
    if (live === "reconnecting") wasLost.current = true;
    if (live !== "live" || !wasLost.current) return;
    wasLost.current = false;
    act();
  }, [live, act]);
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;

/** Longer and longer, never so long that nobody would wait, and not all browsers at once. */
export function retryWait(retries: number): Promise<void> {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(retries, 10));
  return new Promise((resolve) => {
    setTimeout(resolve, wait * (0.5 + Math.random() / 2));
  });
}
