/** Labels of the status categories. */
import { CATEGORIES, type Category } from "./filters/jobs.search.ts";

export const CATEGORY_LABELS: Record<Category, string> = {
  OPEN: "Open",
  IN_PROGRESS: "In progress",
  ATTENTION: "Attention",
  SUCCESS: "Delivered",
  RETURN: "Returns",
  CANCELLED: "Cancelled",
};

export const categoryOptions = CATEGORIES.map((value) => ({ value, label: CATEGORY_LABELS[value] }));
