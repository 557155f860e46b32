/** Recurring tasks for mail. They only trigger work; PostgreSQL decides which mail is due and which process sends it. */
import { defineTask, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** Implemented by the mail feature. */
export interface MailWork {
  /** Sends all due mail, including mail that another process failed to send. */
  sweep(): Promise<void>;
  /** Deletes mail past its retention. */
  purgeExpired(): Promise<void>;
}

const SECOND_MS = 1_000;
const SWEEP_INTERVAL_MS = 10 * SECOND_MS;
const PURGE_INTERVAL_MS = 60 * 60 * SECOND_MS;

const sweepTask = defineTask("mails.sweep", noPayload);
const purgeTask = defineTask("mails.retention", noPayload);

export function mailHandlers(work: MailWork): TaskHandler[] {
  return [
    // After 30 s another process may take over a sweep that hangs on a slow mail server.
    recurringHandler(sweepTask, SWEEP_INTERVAL_MS, () => work.sweep(), { maxRunMs: 30 * SECOND_MS }),
    recurringHandler(purgeTask, PURGE_INTERVAL_MS, () => work.purgeExpired(), {
      maxRunMs: PURGE_INTERVAL_MS,
    }),
  ];
}
