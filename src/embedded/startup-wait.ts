/** Waiting, with an end: short pauses until something holds, one sentence to the person who waits, then an error. */
import { setTimeout as pause } from "node:timers/promises";
import { StartupError } from "../platform/errors.ts";

const defaultPauseMs = 10;
const defaultReportAfterMs = 1_000;

export interface StartupWait {
  /** Pauses once. `reason` is a sentence: it is told once when the wait grows long, and opens the error at its end. */
  pauseOrFail(reason: string, ms?: number): Promise<void>;
}

export interface StartupWaitOptions {
  readonly onProgress: (sentence: string) => void;
  /** How long a wait goes untold; a second where a person waits for it. */
  readonly reportAfterMs?: number;
  readonly timeoutMs: number;
  readonly hint: string;
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal;
}

export function startWait({
  onProgress,
  reportAfterMs = defaultReportAfterMs,
  timeoutMs,
  hint,
  signal,
}: StartupWaitOptions): StartupWait {
  const startedAt = performance.now();
  const reported = new Set<string>();
  return {
    async pauseOrFail(reason, ms = defaultPauseMs) {
      signal?.throwIfAborted();
      const waitedMs = performance.now() - startedAt;
      if (waitedMs > timeoutMs) {
        throw new StartupError(`${reason} Waymark waited ${timeoutMs / 1000} seconds and gave up.`, hint);
      }
      if (waitedMs > reportAfterMs && !reported.has(reason)) {
        reported.add(reason);
        onProgress(reason);
      }
      await pause(ms);
    },
  };
}
