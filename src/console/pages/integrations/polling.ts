/** Asking again and again, as long as somebody looks. */

interface Polling {
  pollInterval: number;
  skipPollAttempt: () => boolean;
}

export function whileVisible(everyMs: number): Polling {
  return { pollInterval: everyMs, skipPollAttempt: isHidden };
}

export function isHidden(): boolean {
  return document.visibilityState === "hidden";
}
