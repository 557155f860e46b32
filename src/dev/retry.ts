/** Repeats a step of the start of an embedded server. */
import { setTimeout as pause } from "node:timers/promises";
import { StartupError } from "../core/errors.ts";

const pauseMs = 20;

/** Thrown by an attempt that `retry` should repeat. The message is a sentence with the reason. */
export class NotYet extends Error {}

export interface RetryOptions {
  /** Receives each reason once, if the wait is long. */
  readonly onProgress: (sentence: string) => void;
  /** Time before a reason is reported; default 1 second. */
  readonly reportAfterMs?: number;
  readonly timeoutMs: number;
  /** What to do after the timeout. */
  readonly hint: string;
  /** Its abort ends the wait, with the abort's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the first result of `attempt` that is not NotYet. Throws its other errors, and StartupError on timeout. */
export async function retry<T>(
  attempt: () => T | Promise<T>,
  { onProgress, reportAfterMs = 1_000, timeoutMs, hint, signal }: RetryOptions,
): Promise<T> {
  const startedAt = performance.now();
  const reported = new Set<string>();
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof NotYet)) throw error;
      const { message } = error;
      const waitedMs = performance.now() - startedAt;
      if (waitedMs > timeoutMs)
        throw new StartupError(`${message} Waymark waited ${timeoutMs / 1000} seconds and gave up.`, hint);
      if (waitedMs > reportAfterMs && !reported.has(message)) {
        reported.add(message);
        onProgress(message);
      }
    }
    await pause(pauseMs);
  }
}
