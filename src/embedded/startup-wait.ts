/** Polling with a progress message and a timeout, for the start of the embedded servers. */
import { setTimeout as pause } from "node:timers/promises";
import { StartupError } from "../platform/errors.ts";

const defaultPauseMs = 10;
const defaultReportAfterMs = 1_000;

export interface StartupWait {
  /** Pauses `ms`. `reason`, a sentence, is reported once if the wait is long. Throws StartupError on timeout. */
  pauseOrFail(reason: string, ms?: number): Promise<void>;
}

export interface StartupWaitOptions {
  readonly onProgress: (sentence: string) => void;
  /** Time before the reason is reported; default 1 second. */
  readonly reportAfterMs?: number;
  readonly timeoutMs: number;
  readonly hint: string;
  /** Aborts the wait: `pauseOrFail` throws its reason. */
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
