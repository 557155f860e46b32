/** Options for polling a query while the page is visible. */

interface PollingOptions {
  pollInterval: number;
  skipPollAttempt: () => boolean;
}

export function pollWhileVisible(intervalMs: number): PollingOptions {
  return { pollInterval: intervalMs, skipPollAttempt: isHidden };
}

export function isHidden(): boolean {
  return document.visibilityState === "hidden";
}
