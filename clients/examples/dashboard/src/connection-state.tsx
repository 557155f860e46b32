/** Shows whether the page is live. Screen readers announce the changes. */
import { useLiveState, type LiveState } from "./live-updates.ts";

const LABELS: Record<LiveState, string> = {
  connecting: "Connecting…",
  "catching-up": "Catching up…",
  live: "Live",
  reconnecting: "Connection lost. Reconnecting…",
  stopped: "Live updates refused. Trying again in 30 s",
};

export function ConnectionState() {
  const state = useLiveState();
  return (
    <p role="status" className={`connection ${state}`}>
      {LABELS[state]}
    </p>
  );
}
