/** The GraphQL operations, for Waymark's schema and for PostGraphile's; both return the same data. */
import type { LoadRequest } from "../load.ts";

const PATH = "/graphql";

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

const UPDATE = `mutation Update($items: [UpdateJobInput!]!) {
  updateJobs(items: $items) {
    updatedCount
    failedCount
    results { markingNumber outcome userErrors { code message } job { ${SCALARS} } }
  }
}`;

const post = (key: string, query: string, variables: Record<string, unknown>): LoadRequest => ({
  method: "POST",
  path: PATH,
  key,
  body: JSON.stringify({ query, variables }),
});

export const operations = {
  dashboard: (key: string, status: string) => post(key, DASHBOARD, { status }),
  postgraphileDashboard: (agent: string, status: string) =>
    post("", POSTGRAPHILE_DASHBOARD, { agent, status }),
  oneJob: (key: string, number: string) => post(key, ONE_JOB, { number }),
  stats: (key: string) => post(key, STATS, {}),
  update: (key: string, items: readonly unknown[]) => post(key, UPDATE, { items }),
};
