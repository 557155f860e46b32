/** Categories of statuses in words and in their order, and what they say about a job. */
import type { JobRowFragment } from "../../generated/job-row.ts";
import { CATEGORIES, UNFINISHED, type Category } from "./filters/jobs.search.ts";

export const CATEGORY_LABELS: Record<Category, string> = {
  OPEN: "Open",
  IN_PROGRESS: "On its way",
  ATTENTION: "Attention",
  SUCCESS: "Delivered",
  RETURN: "Going back",
  CANCELLED: "Cancelled",
};

export const categoryOptions = CATEGORIES.map((value) => ({ value, label: CATEGORY_LABELS[value] }));

/** Today as the API counts it. */
export function todayUtc(nowMs = Date.now()): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

type WithDueDates = Pick<JobRowFragment, "scheduledDate" | "scheduledDeliveryDate">;

/** The confirmed date, or else the scheduled one. */
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
