/** Statuses, failure reasons and organisations, for menus and labels. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import {
  JobReferenceDataDocument,
  type JobReferenceDataQuery,
  type StatusOfJobFragment,
} from "../../generated/jobs.ts";
import type { ReferenceLabels } from "./job.labels.ts";

export interface SelectOption {
  value: string;
  label: string;
}

type Reason = NonNullable<JobReferenceDataQuery["failureReasons"]>[number];

export interface ReferenceData {
  statuses: readonly StatusOfJobFragment[];
  reasons: readonly Reason[];
  agents: readonly SelectOption[];
  contractors: readonly SelectOption[];
  labels: ReferenceLabels;
  isLoading: boolean;
}

export function useReferenceData(): ReferenceData {
  const { data, loading } = useQuery(JobReferenceDataDocument, {
    fetchPolicy: "cache-first",
    errorPolicy: "all",
  });
  return useMemo(() => ({ ...toReferenceData(data), isLoading: loading }), [data, loading]);
}

/** True for failed, on hold and the operator's statuses that need attention. Unknown statuses count as such. */
export function statusTakesReason({ statuses }: ReferenceData, status: string): boolean {
  return (statuses.find(({ code }) => code === status)?.category ?? "ATTENTION") === "ATTENTION";
}

/** Missing parts become empty lists; codes then stand in for labels. */
function toReferenceData(data: Partial<JobReferenceDataQuery> | undefined): Omit<ReferenceData, "isLoading"> {
  const statuses = data?.jobStatuses ?? [];
  const reasons = data?.failureReasons ?? [];
  const agents = organizationOptions(data?.agents);
  const contractors = organizationOptions(data?.contractors);
  return {
    statuses,
    reasons,
    agents,
    contractors,
    labels: {
      statuses: labelsByCode(statuses),
      reasons: labelsByCode(reasons),
      organizations: new Map([...agents, ...contractors].map(({ value, label }) => [value, label])),
    },
  };
}

function organizationOptions(stats: JobReferenceDataQuery["agents"] | undefined): SelectOption[] {
  const keys = (stats?.groups ?? []).flatMap((group) => group.keys);
  return keys
    .flatMap(({ value, label }) => (value === null ? [] : [{ value, label: label ?? value }]))
    .toSorted((one, other) => one.label.localeCompare(other.label));
}

function labelsByCode(list: readonly { code: string; label: string }[]): Map<string, string> {
  return new Map(list.map(({ code, label }) => [code, label]));
}
