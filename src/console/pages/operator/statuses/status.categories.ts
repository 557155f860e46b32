/** The categories of statuses, in the order of a job's life. */
import type { JobStatusCategory } from "../../../generated/statuses.ts";

interface StatusCategoryOption {
  value: JobStatusCategory;
  label: string;
  description: string;
}

export const statusCategoryOptions: readonly StatusCategoryOption[] = [
  { value: "OPEN", label: "Open", description: "Not begun." },
  { value: "IN_PROGRESS", label: "In progress", description: "On its way." },
  { value: "SUCCESS", label: "Success", description: "Delivered, or part of it." },
  { value: "ATTENTION", label: "Attention", description: "Somebody has to see to it." },
  { value: "RETURN", label: "Return", description: "Goes back." },
  { value: "CANCELLED", label: "Cancelled", description: "Not wanted any more." },
];
