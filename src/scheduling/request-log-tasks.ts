/** The recurring task that purges the request log. */
import { defineTask, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** Implemented by the request log. */
export interface RequestLogWork {
  /** Drops the days past the retention. */
  purgeExpired(): Promise<void>;
}

const PURGE_INTERVAL_MS = 60 * 60 * 1_000;

const purgeTask = defineTask("requests.retention", noPayload);

export function requestLogHandlers(work: RequestLogWork): TaskHandler[] {
  return [
    recurringHandler(purgeTask, PURGE_INTERVAL_MS, () => work.purgeExpired(), {
      maxRunMs: PURGE_INTERVAL_MS,
    }),
  ];
}
