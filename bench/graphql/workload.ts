/** GraphQL requests: dashboard pages of the agents with history; other operations for jobs picked as in the REST workload. */
import type { LoadRequest } from "../load.ts";
import type { BenchOrganization } from "../seed.ts";
import { STATUSES, times, type Workload } from "../workload.ts";
import { operations } from "./operations.ts";

export interface GraphqlWorkload {
  dashboards(count: number): LoadRequest[];
  postgraphileDashboards(count: number): LoadRequest[];
  oneJob(count: number): LoadRequest[];
  stats(count: number): LoadRequest[];
  /** Mutations of 100 jobs each. */
  updates(count: number): LoadRequest[];
  restUpdates(count: number): LoadRequest[];
}

const BATCH = 100;

interface RestItem {
  marking_number: string;
  [field: string]: unknown;
}

export function createGraphqlWorkload(rest: Workload, agents: readonly BenchOrganization[]): GraphqlWorkload {
  const pages = agents.flatMap((agent) => STATUSES.map((status) => ({ agent, status })));
  const pageAt = (at: number) => pages[at % pages.length] as (typeof pages)[number];
  return {
    dashboards: (count) =>
      times(count, (at) => operations.dashboard(pageAt(at).agent.key, pageAt(at).status)),
    postgraphileDashboards: (count) =>
      times(count, (at) => operations.postgraphileDashboard(pageAt(at).agent.id, pageAt(at).status)),
    oneJob: (count) =>
      rest
        .updates(count)
        .map(({ key, path }) => operations.oneJob(key, path.slice(path.lastIndexOf("/") + 1))),
    stats: (count) => times(count, (at) => operations.stats(pageAt(at).agent.key)),
    updates: (count) => rest.batches(count, BATCH).map(toUpdate),
    restUpdates: (count) => rest.batches(count, BATCH),
  };
}

/** Converts a REST batch to the equivalent `updateJobs` mutation. */
function toUpdate({ key, body }: LoadRequest): LoadRequest {
  const { jobs } = JSON.parse(body as string) as { jobs: RestItem[] };
  return operations.update(
    key,
    jobs.map(({ marking_number: markingNumber, ...fields }) => ({
      markingNumber,
      patch: camelCased(fields),
    })),
  );
}

function camelCased(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
