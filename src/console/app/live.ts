/** Whether news comes by itself: it may be missing until a subscription stands. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export type LiveState = "idle" | "connecting" | "live" | "reconnecting" | "refused";

let state: LiveState = "idle";
/** How many subscriptions have begun, the number of the last being its id, and how often one has come to stand. */
let begun = 0;
let stood = 0;
const listeners = new Set<() => void>();

function become(next: LiveState): void {
  state = next;
  for (const listener of listeners) listener();
}

/** For the socket's client to tell. */
export const liveEvents = {
  connecting: (isRetry: boolean): void => become(isRetry ? "reconnecting" : "connecting"),
  /** A page has one at a time: the id of the newest. */
  begins(): string {
    begun += 1;
    become("connecting");
    return String(begun);
  },
  /** From now on the subscription tells of everything. That of a page that was left does not count. */
  stands(id: unknown): void {
    if (id !== String(begun)) return;
    stood += 1;
    become("live");
  },
  /** `done`: nobody subscribes any more; `refused`: the server will not have us. */
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

/**
 * Calls once a subscription stands, the first time and after each interruption: what happened since the page was read was
 * told to nobody.
 */
export function useWhenFollowing(act: () => void): void {
  const times = useSyncExternalStore(subscribe, () => stood);
  const known = useRef(times);
  useEffect(() => {
    if (known.current === times) return;
    known.current = times;
    act();
  }, [times, act]);
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
