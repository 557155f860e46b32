/** The task behind the request log: days that are over are dropped. */
import { defineTask, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** What the composition root gives to be poked. */
export interface RequestLogWork {
  /** Removes what is past its retention. */
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
