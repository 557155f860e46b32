/** Job statuses in the shape of the GraphQL schema. */
import type { JobStatusCode } from "../../jobs/api.ts";

export interface JobStatusNode {
  readonly code: string;
  readonly label: string;
  readonly category: "OPEN" | "IN_PROGRESS" | "SUCCESS" | "ATTENTION" | "RETURN" | "CANCELLED";
  readonly isTerminal: boolean;
}

export function toJobStatusNode({ code, label, category, is_terminal }: JobStatusCode): JobStatusNode {
  return {
    code,
    label,
    category: category.toUpperCase() as JobStatusNode["category"],
    isTerminal: is_terminal,
  };
}
