/** Labels of the status categories, and the due date of a job. */
import type { JobRowFragment } from "../../generated/job-row.ts";
import { CATEGORIES, UNFINISHED, type Category } from "./filters/jobs.search.ts";

export const CATEGORY_LABELS: Record<Category, string> = {
  OPEN: "Open",
  IN_PROGRESS: "In progress",
  ATTENTION: "Attention",
  SUCCESS: "Delivered",
  RETURN: "Returns",
  CANCELLED: "Cancelled",
};

export const categoryOptions = CATEGORIES.map((value) => ({ value, label: CATEGORY_LABELS[value] }));

/** Today's date in UTC, which the API uses. */
export function todayUtc(nowMs = Date.now()): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

type WithDueDates = Pick<JobRowFragment, "scheduledDate" | "scheduledDeliveryDate">;

/** The confirmed date, or the scheduled date if none is confirmed. */
export function dueDay({ scheduledDate, scheduledDeliveryDate }: WithDueDates): string | null {
  return scheduledDeliveryDate ?? scheduledDate;
}

export function isLate(
  job: WithDueDates & { readonly status: { readonly category: Category } },
  today: string,
): boolean {
  const due = dueDay(job);
  return due !== null && due < today && UNFINISHED.includes(job.status.category);
}
