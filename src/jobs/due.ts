/** When a job is due and late, and the change that moves it to another day. */
import type { JobPatch } from "./fields.ts";

/** OpenAPI, the SDL, the console and the guide state it; `lateSql` and the console apply it. */
export const DUE_RULE =
  "A job is due on its confirmed date, or on its scheduled date if it has no confirmed date, and is late from the next day in your organisation's time zone until it is delivered, being returned or cancelled.";

/**
 * Returns the change after which a job is due on `date`. It depends on no value of the job, so one that changes meanwhile is due on
 * that day too. An unconfirmed date must not replace a confirmed one.
 */
export function reschedulePatch(date: string, isConfirmed: boolean): JobPatch {
  return isConfirmed
    ? { scheduled_delivery_date: date, scheduled_delivery_pending: false }
    : { scheduled_date: date, scheduled_delivery_date: null };
}
