import type { JobStatus } from "./queries.ts";

export function StatusBadge({ status: { label, category } }: { status: JobStatus }) {
  return <span className={`status ${category}`}>{label}</span>;
}
