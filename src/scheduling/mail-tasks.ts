/** The tasks behind mails. Their handlers only poke: what is due, and who may send it, PostgreSQL says. */
import { defineTask, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** What the composition root gives to be poked. */
export interface MailWork {
  /** Sends whatever is due, whoever forgot it. */
  sweep(): Promise<void>;
  /** Removes what is past its retention. */
  purgeExpired(): Promise<void>;
}

const SECOND_MS = 1_000;
const SWEEP_INTERVAL_MS = 10 * SECOND_MS;
const PURGE_INTERVAL_MS = 60 * 60 * SECOND_MS;

const sweepTask = defineTask("mails.sweep", noPayload);
const purgeTask = defineTask("mails.retention", noPayload);

export function mailHandlers(work: MailWork): TaskHandler[] {
  return [
    // One that hangs here, on a slow mail server, is soon another process's.
    recurringHandler(sweepTask, SWEEP_INTERVAL_MS, () => work.sweep(), { maxRunMs: 30 * SECOND_MS }),
    recurringHandler(purgeTask, PURGE_INTERVAL_MS, () => work.purgeExpired(), {
      maxRunMs: PURGE_INTERVAL_MS,
    }),
  ];
}
