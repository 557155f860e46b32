/** The tasks behind mails. Their handlers only poke: what is due, and who may send it, PostgreSQL says. */
import { defineTask, noPayload, repeat, type Handler } from "./task.ts";

/** What the composition root gives to be poked. */
export interface MailWork {
  /** Sends whatever is due, whoever forgot it. */
  sweep(): Promise<void>;
  /** Removes what is past its retention. */
  retire(): Promise<void>;
}

const SECOND_MS = 1_000;
const SWEEP_EVERY_MS = 10 * SECOND_MS;
const RETENTION_EVERY_MS = 60 * 60 * SECOND_MS;

const sweepTask = defineTask("mails.sweep", noPayload);
const retentionTask = defineTask("mails.retention", noPayload);

export function mailHandlers(work: MailWork): Handler[] {
  return [
    // One that hangs here, on a slow mail server, is soon another process's.
    repeat(sweepTask, SWEEP_EVERY_MS, () => work.sweep(), { longestRunMs: 30 * SECOND_MS }),
    repeat(retentionTask, RETENTION_EVERY_MS, () => work.retire(), { longestRunMs: RETENTION_EVERY_MS }),
  ];
}
