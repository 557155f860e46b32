/** Waiting, with an end: short pauses until something holds, one sentence to the person who waits, then an error. */
import { setTimeout as pause } from "node:timers/promises";
import { StartupError } from "../platform/errors.ts";

const pauseMs = 10;
const longWaitMs = 1_000;

export interface StartupWait {
  /** Pauses once. `reason` is a sentence: it is told once when the wait grows long, and opens the error at its end. */
  because(reason: string, ms?: number): Promise<void>;
}

export interface StartupWaitOptions {
  readonly onProgress: (sentence: string) => void;
  /** How long a wait goes untold; a second where a person waits for it. */
  readonly tellAfterMs?: number;
  readonly giveUpAfterMs: number;
  readonly hint: string;
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal;
}

export function startWaiting({
  onProgress,
  tellAfterMs = longWaitMs,
  giveUpAfterMs,
  hint,
  signal,
}: StartupWaitOptions): StartupWait {
  const startedAt = performance.now();
  const told = new Set<string>();
  return {
    async because(reason, ms = pauseMs) {
      signal?.throwIfAborted();
      const waitedMs = performance.now() - startedAt;
      if (waitedMs > giveUpAfterMs) {
        throw new StartupError(`${reason} Waymark waited ${giveUpAfterMs / 1000} seconds and gave up.`, hint);
      }
      if (waitedMs > tellAfterMs && !told.has(reason)) {
        told.add(reason);
        onProgress(reason);
      }
      await pause(ms);
    },
  };
}
