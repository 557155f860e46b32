/** Apollo Client: queries over HTTP, subscriptions over a WebSocket that reconnects, and one cache for both. */
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";
import { map } from "rxjs";
import { JOB_FIELDS, type Job } from "./queries.ts";

const cache = new InMemoryCache({
  typePolicies: {
    JobStatus: { keyFields: ["code"] },
    // Keeps one page of events in the cache, not one for each cursor.
    Query: { fields: { events: { keyArgs: false, merge: false } } },
  },
});

export const socket = createClient({
  url: `${location.origin.replace("http", "ws")}/graphql`,
  keepAlive: 10_000,
  retryAttempts: Number.POSITIVE_INFINITY,
  retryWait: (retries) => wait(Math.min(2 ** retries, 30) * 500 * (1 + Math.random())),
  // Waymark closes with 4403 if it rejects the key.
  shouldRetry: (event) => (event as CloseEvent).code !== 4403,
});

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** A slow response can be older than an event that arrived before it. This link never lets it undo the event. */
const keepNewestJobs = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    map((result) => ({ ...result, data: withNewestJobs(result.data) as typeof result.data })),
  ),
);

/** Returns a copy of `data` in which each job that is older than the one in the cache is replaced by that. */
function withNewestJobs(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withNewestJobs);
  if (typeof data !== "object" || data === null) return data;
  const copy = Object.fromEntries(Object.entries(data).map(([name, value]) => [name, withNewestJobs(value)]));
  if (copy["__typename"] !== "Job") return copy;
  const job = copy as unknown as Job;
  const known = cache.readFragment({ fragment: JOB_FIELDS, from: { __typename: "Job", id: job.id } });
  return known && known.version > job.version ? { ...job, ...known } : job;
}

const isSubscription = ({ operationType }: ApolloLink.Operation): boolean =>
  operationType === OperationTypeNode.SUBSCRIPTION;

export const apollo = new ApolloClient({
  cache,
  link: keepNewestJobs.concat(
    ApolloLink.split(isSubscription, new GraphQLWsLink(socket), new HttpLink({ uri: "/graphql" })),
  ),
  defaultOptions: { watchQuery: { fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" } },
});
