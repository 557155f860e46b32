/** The categories of statuses with descriptions, in the order of a job's life. */
import type { JobStatusCategory } from "../../../generated/statuses.ts";
import { CATEGORY_LABELS } from "../../jobs/job.category.ts";

interface StatusCategoryOption {
  value: JobStatusCategory;
  label: string;
  description: string;
}

const descriptions: Record<JobStatusCategory, string> = {
  OPEN: "Not started.",
  IN_PROGRESS: "Being delivered.",
  SUCCESS: "Delivered, completely or in part.",
  ATTENTION: "Needs action by someone.",
  RETURN: "Going back to the sender, or returned.",
  CANCELLED: "No longer needed.",
};

const ORDER = ["OPEN", "IN_PROGRESS", "SUCCESS", "ATTENTION", "RETURN", "CANCELLED"] as const;

export const statusCategoryOptions: readonly StatusCategoryOption[] = ORDER.map((value) => ({
  value,
  label: CATEGORY_LABELS[value],
  description: descriptions[value],
}));
