/** When a job is due and late, and today's date. */
import type { JobRowFragment } from "../../generated/job-row.ts";
import { UNFINISHED, type Category, type DuePreset } from "./filters/jobs.search.ts";

/** The server's rule, which `dueDay` and `isLate` apply. */
export const DUE_RULE =
  "A job is due on its confirmed date, or on its scheduled date if it has no confirmed date, and is late from the next day in your organisation's time zone until it is delivered, being returned or cancelled.";

const DAY_MS = 86_400_000;

/** Today's date in a time zone. */
export function today(zone = "UTC", nowMs = Date.now()): string {
  // The Swedish format of a date is ISO 8601.
  return new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(nowMs);
}

/** The first instant of a day in a time zone, in ISO 8601. It is not always midnight: some clocks go forward then. */
export function startOfDay(day: string, zone: string): string {
  const calendar = new Intl.DateTimeFormat("sv-SE", { timeZone: zone });
  let [before, start] = [Date.parse(day) - DAY_MS, Date.parse(day) + DAY_MS];
  while (start - before > 1) {
    const middle = Math.floor((before + start) / 2);
    if (calendar.format(middle) < day) before = middle;
    else start = middle;
  }
  return new Date(start).toISOString();
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first and the last day of a preset. A week begins on Monday. */
export function daysOf(preset: DuePreset, day: string): [string, string] {
  if (preset !== "week") {
    const only = addDays(day, { yesterday: -1, today: 0, tomorrow: 1 }[preset]);
    return [only, only];
  }
  const monday = addDays(day, -((new Date(day).getUTCDay() + 6) % 7));
  return [monday, addDays(monday, 6)];
}

export type WithDueDates = Pick<JobRowFragment, "scheduledDate" | "scheduledDeliveryDate"> & {
  readonly status: { readonly category: Category };
};

/** Null if the job has no date. */
export function dueDay({
  scheduledDate,
  scheduledDeliveryDate,
}: Omit<WithDueDates, "status">): string | null {
  return scheduledDeliveryDate ?? scheduledDate;
}

export function isFinished({ status }: Pick<WithDueDates, "status">): boolean {
  return !UNFINISHED.includes(status.category);
}

export function isLate(job: WithDueDates, now: string): boolean {
  const due = dueDay(job);
  return due !== null && due < now && !isFinished(job);
}
