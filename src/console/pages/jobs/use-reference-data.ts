/** Statuses, failure reasons and organisations: for menus, and to call codes and ids by their names. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { JobChoicesDocument, type JobChoicesQuery, type StatusOfJobFragment } from "../../generated/jobs.ts";
import type { ReferenceLabels } from "./job.labels.ts";

export interface SelectOption {
  value: string;
  label: string;
}

type Reason = NonNullable<JobChoicesQuery["failureReasons"]>[number];

export interface ReferenceData {
  statuses: readonly StatusOfJobFragment[];
  reasons: readonly Reason[];
  agents: readonly SelectOption[];
  contractors: readonly SelectOption[];
  labels: ReferenceLabels;
  isLoading: boolean;
}

export function useReferenceData(): ReferenceData {
  const { data, loading } = useQuery(JobChoicesDocument, { fetchPolicy: "cache-first", errorPolicy: "all" });
  return useMemo(() => ({ ...toReferenceData(data), isLoading: loading }), [data, loading]);
}

/** Whatever of it did not come is called by its code. */
function toReferenceData(data: Partial<JobChoicesQuery> | undefined): Omit<ReferenceData, "isLoading"> {
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

function organizationOptions(stats: JobChoicesQuery["agents"] | undefined): SelectOption[] {
  const keys = (stats?.groups ?? []).flatMap((group) => group.keys);
  return keys
    .flatMap(({ value, label }) => (value === null ? [] : [{ value, label: label ?? value }]))
    .toSorted((one, other) => one.label.localeCompare(other.label));
}

function labelsByCode(list: readonly { code: string; label: string }[]): Map<string, string> {
  return new Map(list.map(({ code, label }) => [code, label]));
}
