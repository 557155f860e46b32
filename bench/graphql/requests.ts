/** GraphQL requests, for Waymark's schema and for PostGraphile's; both return the same data. */
import type { LoadRequest } from "../load.ts";
import type { BenchOrganization } from "../seed.ts";
import { STATUSES, times, type Workload } from "../workload.ts";

/** Jobs on a dashboard page. Five events per job: with ten the page would exceed the cost limit of an operation. */
export const PAGE = 50;
export const EVENTS = 5;

const SCALARS = `id markingNumber batchNumber groupCode pieceQuantity labels pts weight recipientName recipientContact
    deliveryAddress postalCode scheduledDate instructions normalizedStatus failureReason scheduledDeliveryDate
    scheduledDeliveryPending providerStatus version createdAt updatedAt`;

const DASHBOARD = `query Dashboard($status: String!) {
  jobs(first: ${PAGE}, filter: {normalizedStatus: {eq: $status}}) {
    nodes {
      ${SCALARS}
      agent { id name type }
      contractor { id name type }
      history(first: ${EVENTS}) { nodes { id type sequence occurredAt actor { type id } changes { field from to } } }
    }
  }
}`;

/** PostGraphile has uuids as ids, the actor in two columns, and an event's changes as one JSON value. */
const POSTGRAPHILE_DASHBOARD = `query Dashboard($agent: UUID!, $status: String!) {
  allJobs(first: ${PAGE}, condition: {agentId: $agent, normalizedStatus: $status}, orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC]) {
    nodes {
      ${SCALARS.replace("id ", "rowId ")}
      organizationByAgentId { rowId name type }
      organizationByContractorId { rowId name type }
      jobEventsByJobId(first: ${EVENTS}, orderBy: SEQUENCE_DESC) {
        nodes { rowId type sequence occurredAt actorType actorId changes }
      }
    }
  }
}`;

const ONE_JOB = `query OneJob($number: String!) {
  viewer { kind organization { name } }
  job(markingNumber: $number) { id markingNumber normalizedStatus recipientName scheduledDate updatedAt }
}`;

const STATS =
  "query Stats { jobStats(groupBy: [STATUS]) { total groups { count keys { key value label } } } }";

const post = (key: string, query: string, variables: Record<string, unknown>): LoadRequest => ({
  method: "POST",
  path: "/graphql",
  key,
  body: JSON.stringify({ query, variables }),
});

export const statsRequest = (key: string): LoadRequest => post(key, STATS, {});

/** Dashboard pages and counts of the agents with history; other operations for jobs picked as in the REST workload. */
export interface GraphqlWorkload {
  dashboards(count: number): LoadRequest[];
  postgraphileDashboards(count: number): LoadRequest[];
  oneJob(count: number): LoadRequest[];
  stats(count: number): LoadRequest[];
}

export function createGraphqlWorkload(rest: Workload, agents: readonly BenchOrganization[]): GraphqlWorkload {
  const pages = agents.flatMap((agent) => STATUSES.map((status) => ({ agent, status })));
  const pageAt = (at: number) => pages[at % pages.length] as (typeof pages)[number];
  return {
    dashboards: (count) =>
      times(count, (at) => post(pageAt(at).agent.key, DASHBOARD, { status: pageAt(at).status })),
    postgraphileDashboards: (count) =>
      times(count, (at) => {
        const { agent, status } = pageAt(at);
        return post("", POSTGRAPHILE_DASHBOARD, { agent: agent.id, status });
      }),
    oneJob: (count) =>
      rest
        .updates(count)
        .map(({ key, path }) => post(key, ONE_JOB, { number: path.slice(path.lastIndexOf("/") + 1) })),
    stats: (count) => times(count, (at) => statsRequest(pageAt(at).agent.key)),
  };
}
