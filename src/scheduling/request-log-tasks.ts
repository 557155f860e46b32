/** The task behind the request log: days that are over are dropped. */
import { defineTask, noPayload, repeat, type Handler } from "./task.ts";

/** What the composition root gives to be poked. */
export interface RequestLogWork {
  /** Removes what is past its retention. */
  retire(): Promise<void>;
}

const RETENTION_EVERY_MS = 60 * 60 * 1_000;

const retentionTask = defineTask("requests.retention", noPayload);

export function requestLogHandlers(work: RequestLogWork): Handler[] {
  return [
    repeat(retentionTask, RETENTION_EVERY_MS, () => work.retire(), { longestRunMs: RETENTION_EVERY_MS }),
  ];
}
