/** Statuses, failure reasons and organisations: for menus, and to call codes and ids by their names. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { JobChoicesDocument, type JobChoicesQuery, type StatusOfJobFragment } from "../../generated/jobs.ts";
import type { Names } from "./job.words.ts";

export interface Choice {
  value: string;
  label: string;
}

type Reason = NonNullable<JobChoicesQuery["failureReasons"]>[number];

export interface Choices {
  statuses: readonly StatusOfJobFragment[];
  reasons: readonly Reason[];
  agents: readonly Choice[];
  contractors: readonly Choice[];
  names: Names;
  isLoading: boolean;
}

export function useChoices(): Choices {
  const { data, loading } = useQuery(JobChoicesDocument, { fetchPolicy: "cache-first", errorPolicy: "all" });
  return useMemo(() => ({ ...choicesOf(data), isLoading: loading }), [data, loading]);
}

/** Whatever of it did not come is called by its code. */
function choicesOf(data: Partial<JobChoicesQuery> | undefined): Omit<Choices, "isLoading"> {
  const statuses = data?.jobStatuses ?? [];
  const reasons = data?.failureReasons ?? [];
  const agents = organizationsOf(data?.agents);
  const contractors = organizationsOf(data?.contractors);
  return {
    statuses,
    reasons,
    agents,
    contractors,
    names: {
      statuses: labelsOf(statuses),
      reasons: labelsOf(reasons),
      organizations: new Map([...agents, ...contractors].map(({ value, label }) => [value, label])),
    },
  };
}

function organizationsOf(stats: JobChoicesQuery["agents"] | undefined): Choice[] {
  const keys = (stats?.groups ?? []).flatMap((group) => group.keys);
  return keys
    .flatMap(({ value, label }) => (value === null ? [] : [{ value, label: label ?? value }]))
    .toSorted((one, other) => one.label.localeCompare(other.label));
}

function labelsOf(list: readonly { code: string; label: string }[]): Map<string, string> {
  return new Map(list.map(({ code, label }) => [code, label]));
}
