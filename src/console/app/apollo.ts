/** Apollo Client: questions over HTTP by the session's cookie, subscriptions over a socket that comes back by itself. */
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, ServerError } from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient, type Client } from "graphql-ws";
import { OperationTypeNode } from "graphql";
import { from, mergeMap, throwError } from "rxjs";
import { serverUrl } from "./base.ts";
import { createCache } from "./cache.ts";
import { liveEvents, retryWait } from "./live.ts";
import { reauthentication } from "./reauthentication.ts";

/**
 * Close codes after which nobody comes back: the server will not have us, or one of both sides has erred, where graphql-ws
 * gives up by itself.
 */
const REFUSALS = new Set([1008, 1011, 4400, 4401, 4403, 4406, 4409, 4429, 4500]);

interface SessionEvents {
  /** A request found the session ended. */
  onUnauthorized: () => void;
  /** A request was forbidden, or the socket closed for good: the session ended, or its rights changed. */
  onRefused: () => void;
}

export function createApolloClient({ onUnauthorized, onRefused }: SessionEvents): ApolloClient {
  const http = new HttpLink({
    uri: serverUrl("graphql"),
    credentials: "same-origin",
    // A page of another origin cannot set it without being asked first.
    headers: { "apollo-require-preflight": "true" },
  });
  const sockets = new GraphQLWsLink(createSocketClient(onRefused));
  const watchSession = new ErrorLink(({ error }) => {
    if (isRefusedAs(error, 401, "UNAUTHENTICATED")) onUnauthorized();
    else if (isRefusedAs(error, 403, "FORBIDDEN")) onRefused();
  });
  const reauthenticate = new ErrorLink(({ error, operation, forward }) => {
    if (!hasCode(error, "REAUTHENTICATION_REQUIRED")) return undefined;
    return from(reauthentication.request()).pipe(
      mergeMap((isConfirmed) => (isConfirmed ? forward(operation) : throwError(() => error))),
    );
  });
  return new ApolloClient({
    link: ApolloLink.from([reauthenticate, watchSession]).concat(
      ApolloLink.split(isSubscription, sockets, http),
    ),
    cache: createCache(),
    defaultOptions: { watchQuery: { fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" } },
    devtools: { enabled: import.meta.env.DEV },
  });
}

function isSubscription({ operationType }: ApolloLink.Operation): boolean {
  return operationType === OperationTypeNode.SUBSCRIPTION;
}

function createSocketClient(onRefused: () => void): Client {
  return createClient({
    url: serverUrl("graphql").replace(/^http/, "ws"),
    lazy: true,
    keepAlive: 30_000,
    generateID: () => liveEvents.begins(),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait,
    shouldRetry: (event) => !isRefusal(event),
    on: {
      connecting: (isRetry) => liveEvents.connecting(isRetry),
      ping(isReceived, payload) {
        if (isReceived && payload) liveEvents.stands(payload["subscribed"]);
      },
      closed(event) {
        liveEvents.closed(endOf(event));
        if (isRefusal(event)) onRefused();
      },
    },
  });
}

function isRefusal(event: unknown): boolean {
  return event instanceof CloseEvent && REFUSALS.has(event.code);
}

/** 1000: nothing is subscribed to any more. */
function endOf(event: unknown): "done" | "lost" | "refused" {
  if (event instanceof CloseEvent && event.code === 1000) return "done";
  return isRefusal(event) ? "refused" : "lost";
}

function isRefusedAs(error: unknown, status: number, code: string): boolean {
  if (ServerError.is(error)) return error.statusCode === status;
  return hasCode(error, code);
}

function hasCode(error: unknown, code: string): boolean {
  if (!CombinedGraphQLErrors.is(error)) return false;
  return error.errors.some(({ extensions }) => extensions?.["code"] === code);
}
