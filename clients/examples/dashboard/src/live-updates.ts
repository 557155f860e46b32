/**
 * Live updates: one subscription to all changes. After an interruption it reads the changes that it missed. Events reach the
 * page through the cache: Apollo stores each job of an event under its ID.
 */
import { CombinedGraphQLErrors } from "@apollo/client";
import { useSyncExternalStore } from "react";
import { apollo, socket } from "./client.ts";
import { JOB_CHANGED, MISSED_EVENTS } from "./queries.ts";

/** `catching-up`: connected, and reading what was missed. `stopped`: Waymark refused the connection. */
export type LiveState = "connecting" | "catching-up" | "live" | "reconnecting" | "stopped";

const ANSWER_TIMEOUT_MS = 10_000;
const RESTART_DELAY_MS = 30_000;
const REFRESH_DELAY_MS = 1_000;

let state: LiveState = "connecting";
const listeners = new Set<() => void>();

/** Cursor of the last event up to which the cache has every change. */
let position: string | null = null;
/** Aborted when the connection is lost. */
let connection = new AbortController();
let answerTimer: ReturnType<typeof setTimeout>;
let refreshTimer: ReturnType<typeof setTimeout> | null = null;

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

function setState(next: LiveState): void {
  state = next;
  for (const listener of listeners) listener();
}

/** Call it once, when the page starts. */
export function startLiveUpdates(): void {
  socket.on("connecting", (isRetry) => {
    connection = new AbortController();
    setState(isRetry ? "reconnecting" : "connecting");
    expectAnswer();
  });
  socket.on("connected", () => clearTimeout(answerTimer));
  socket.on("ping", (isReceived, payload) => {
    if (!isReceived) expectAnswer();
    // Waymark sends this ping when the subscription becomes active.
    else if (payload?.["subscribed"]) void catchUp(String(payload["cursor"]), connection.signal);
  });
  socket.on("pong", (isReceived) => void (isReceived && clearTimeout(answerTimer)));
  socket.on("closed", () => {
    clearTimeout(answerTimer);
    connection.abort();
    setState("reconnecting");
  });
  subscribe();
}

function subscribe(): void {
  apollo.subscribe({ query: JOB_CHANGED }).subscribe({
    next({ data }) {
      // Until the catch-up has ended, the events before this one are missing.
      if (state === "live" && data) position = data.jobChanged.cursor;
      scheduleRefresh();
    },
    // The client gave up: Apollo ends a subscription without `error`.
    complete() {
      setState("stopped");
      setTimeout(subscribe, RESTART_DELAY_MS);
    },
  });
}

/** A network can lose a connection without a sign. Without an answer in time, open another one. */
function expectAnswer(): void {
  clearTimeout(answerTimer);
  answerTimer = setTimeout(() => socket.terminate(), ANSWER_TIMEOUT_MS);
}

/** Reads all events after `position`. `startCursor` is the position at which the subscription became active. */
async function catchUp(startCursor: string, signal: AbortSignal): Promise<void> {
  setState("catching-up");
  position ??= startCursor;
  try {
    for (let hasNextPage = true; hasNextPage;) hasNextPage = await readMissedEvents(position);
  } catch (error) {
    // After more than 30 days, start again from here: the refresh below reads what the page shows.
    if (isCursorExpired(error)) position = startCursor;
    else if (!signal.aborted) socket.terminate();
  }
  if (signal.aborted) return;
  setState("live");
  scheduleRefresh();
}

/** Moves `position` by one page of events, and returns true if there are more. */
async function readMissedEvents(after: string): Promise<boolean> {
  const { data } = await apollo.query({
    query: MISSED_EVENTS,
    variables: { after },
    fetchPolicy: "network-only",
  });
  const { hasNextPage = false, endCursor = null } = data?.events.pageInfo ?? {};
  position = endCursor ?? after;
  return hasNextPage;
}

function isCursorExpired(error: unknown): boolean {
  if (!CombinedGraphQLErrors.is(error)) return false;
  return error.errors.some(({ extensions }) => extensions?.["code"] === "CURSOR_EXPIRED");
}

/** Reads counts, histories and which jobs match the filter again, at most once a second. */
function scheduleRefresh(): void {
  refreshTimer ??= setTimeout(() => {
    refreshTimer = null;
    // Each query shows its own error.
    apollo.refetchQueries({ include: "active" }).catch(() => undefined);
  }, REFRESH_DELAY_MS);
}
