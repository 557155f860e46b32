/** The current time for components, which rerender as it passes. */
import { useSyncExternalStore } from "react";

export const CLOCK_TICK_MS = 10_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all, stopped while no component uses it. */
export function subscribeToClock(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, CLOCK_TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Rounded up to 10 seconds, so that components rerender rarely and no past event appears in the future. */
function roundedNowMs(): number {
  return Math.ceil(Date.now() / CLOCK_TICK_MS) * CLOCK_TICK_MS;
}

/** The current time in milliseconds, updated every 10 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribeToClock, roundedNowMs);
}
