/** The state of the WebSocket that carries live updates. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export type ConnectionStatus = "idle" | "connecting" | "live" | "reconnecting" | "refused";

let status: ConnectionStatus = "idle";
/** Subscriptions started so far. */
let startedCount = 0;
/** Subscriptions of the page by their id: true if the server has confirmed it. */
const confirmedById = new Map<string, boolean>();
/** How often a subscription became active. */
let subscribedCount = 0;
const listeners = new Set<() => void>();

function setStatus(next: ConnectionStatus): void {
  status = next;
  for (const listener of listeners) listener();
}

function areConfirmed(): boolean {
  return ![...confirmedById.values()].includes(false);
}

/** Called by the WebSocket client. */
export const socketEvents = {
  connecting: (isRetry: boolean): void => setStatus(isRetry ? "reconnecting" : "connecting"),
  /** Returns the id of a new subscription. */
  nextSubscriptionId(): string {
    startedCount += 1;
    confirmedById.set(String(startedCount), false);
    setStatus("connecting");
    return String(startedCount);
  },
  /** The server confirmed that the subscription is active. Ignores subscriptions of a previous page. */
  subscribed(id: unknown): void {
    if (!confirmedById.has(String(id))) return;
    confirmedById.set(String(id), true);
    subscribedCount += 1;
    setStatus(areConfirmed() ? "live" : status);
  },
  ended(id: string): void {
    confirmedById.delete(id);
    if (confirmedById.size > 0 && areConfirmed()) setStatus("live");
  },
  /** `done`: no subscription is left; `refused`: the server rejected the connection for good. */
  closed(end: "done" | "lost" | "refused"): void {
    for (const id of confirmedById.keys()) confirmedById.set(id, false);
    setStatus(end === "done" ? "idle" : end === "lost" ? "reconnecting" : "refused");
  },
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnectionStatus(): ConnectionStatus {
  return useSyncExternalStore(subscribe, () => status);
}

/**
 * Calls `callback` when a subscription becomes active, also after a reconnect. Changes made before that were not
 * sent, so read them again.
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

/** Exponential backoff from 1 to 20 seconds with jitter. */
export function waitBeforeRetry(retries: number): Promise<void> {
  const delayMs = Math.min(MAX_RETRY_DELAY_MS, INITIAL_RETRY_DELAY_MS * 2 ** Math.min(retries, 10));
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs * (0.5 + Math.random() / 2));
  });
}
