/**
 * Apollo Client: queries and mutations over HTTP with the session cookie, subscriptions over a WebSocket that
 * reconnects.
 */
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  HttpLink,
  ServerError,
  InMemoryCache,
  type FieldPolicy,
} from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient, type Client } from "graphql-ws";
import { OperationTypeNode } from "graphql";
import { from, mergeMap, throwError } from "rxjs";
import { serverUrl } from "./server-url.ts";
import { fetchRows } from "../later.tsx";
import { socketEvents, waitBeforeRetry } from "./connection-status.ts";
import type { Mode } from "../session/mode.ts";
import { reauthentication } from "../session/reauthentication.ts";
import { relayStylePagination } from "@apollo/client/utilities";

/**
 * WebSocket close codes after which the client does not reconnect: the server refused it, or one side has a protocol
 * error.
 */
const FATAL_CLOSE_CODES = new Set([1008, 1011, 4400, 4401, 4403, 4406, 4409, 4429, 4500]);

interface SessionOptions {
  mode: Mode;
  /** A request was rejected with 401: the session has ended. Resolves to true if the user signed in again. */
  onUnauthorized: () => Promise<boolean>;
  /**
   * A request was rejected with 403, or the socket was closed for good: the session ended or its permissions changed.
   */
  onForbidden: () => void;
}

export function createApolloClient({ mode, onUnauthorized, onForbidden }: SessionOptions): ApolloClient {
  const httpLink = new HttpLink({
    uri: serverUrl("graphql"),
    fetch: fetchRows,
    credentials: "same-origin",
    // Forces a CORS preflight, so another origin cannot send the request.
    headers: { "apollo-require-preflight": "true", ...modeHeaders(mode) },
  });
  const webSocketLink = new GraphQLWsLink(createWebSocketClient(mode, onForbidden));
  const retryLink = new ErrorLink(({ error, operation, forward }) => {
    keepRetryAfter(error, operation.getContext()["response"]);
    const confirm = (): Promise<boolean> | null => {
      if (hasCode(error, "REAUTHENTICATION_REQUIRED")) return reauthentication.request("stale");
      if (hasStatusOrCode(error, 401, "UNAUTHENTICATED")) return onUnauthorized();
      if (hasStatusOrCode(error, 403, "FORBIDDEN")) onForbidden();
      return null;
    };
    const pending = confirm();
    if (!pending) return undefined;
    return from(pending).pipe(
      mergeMap((isConfirmed) => (isConfirmed ? forward(operation) : throwError(() => error))),
    );
  });
  return new ApolloClient({
    link: retryLink.concat(ApolloLink.split(isSubscription, webSocketLink, httpLink)),
    cache: createApolloCache(),
    defaultOptions: { watchQuery: { fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" } },
    devtools: { enabled: import.meta.env.DEV },
  });
}

const retryAfterByError = new WeakMap<object, number>();

/** Apollo makes a new error for each of its layers, but with the same GraphQL errors. */
function identityOf(error: unknown): object | null {
  if (CombinedGraphQLErrors.is(error)) return error.errors[0] ?? null;
  return error instanceof Error ? error : null;
}

/** Apollo's errors of a GraphQL response do not contain its headers. */
function keepRetryAfter(error: unknown, response: unknown): void {
  const header = response instanceof Response ? response.headers.get("Retry-After") : null;
  const identity = identityOf(error);
  if (identity && header !== null && /^\d+$/.test(header)) retryAfterByError.set(identity, Number(header));
}

/** From the Retry-After header; null if the response had none. */
export function retryAfterSeconds(error: unknown): number | null {
  const identity = identityOf(error);
  return (identity && retryAfterByError.get(identity)) ?? null;
}

function isSubscription({ operationType }: ApolloLink.Operation): boolean {
  return operationType === OperationTypeNode.SUBSCRIPTION;
}

/** Live requests need no header. */
function modeHeaders(mode: Mode): Record<string, string> {
  return mode === "live" ? {} : { "x-waymark-mode": mode };
}

function createWebSocketClient(mode: Mode, onForbidden: () => void): Client {
  let newestId = "";
  const client = createClient({
    url: serverUrl("graphql").replace(/^http/, "ws"),
    connectionParams: modeHeaders(mode),
    lazy: true,
    keepAlive: 30_000,
    generateID: () => (newestId = socketEvents.nextSubscriptionId()),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: waitBeforeRetry,
    shouldRetry: (event) => !isFatalClose(event),
    on: {
      connecting: (isRetry) => socketEvents.connecting(isRetry),
      ping(isReceived, payload) {
        if (isReceived && payload) socketEvents.subscribed(payload["subscribed"]);
      },
      closed(event) {
        socketEvents.closed(closeReason(event));
        if (isFatalClose(event)) onForbidden();
      },
    },
  });
  return {
    ...client,
    subscribe(payload, sink) {
      const unsubscribe = client.subscribe(payload, sink);
      const id = newestId;
      return () => {
        socketEvents.ended(id);
        unsubscribe();
      };
    },
  };
}

function isFatalClose(event: unknown): boolean {
  return event instanceof CloseEvent && FATAL_CLOSE_CODES.has(event.code);
}

/** Code 1000 means that the last subscription ended. */
function closeReason(event: unknown): "done" | "lost" | "refused" {
  if (event instanceof CloseEvent && event.code === 1000) return "done";
  return isFatalClose(event) ? "refused" : "lost";
}

function hasStatusOrCode(error: unknown, status: number, code: string): boolean {
  if (ServerError.is(error)) return error.statusCode === status;
  return hasCode(error, code);
}

function hasCode(error: unknown, code: string): boolean {
  if (!CombinedGraphQLErrors.is(error)) return false;
  return error.errors.some(({ extensions }) => extensions?.["code"] === code);
}

const PAGINATION_ARGUMENTS = new Set(["first", "after", "last", "before"]);

/**
 * A list that `LoadMore` extends, cached separately for each set of filters. Its documents select `edges { node }`.
 */
function paginatedField(): FieldPolicy {
  return relayStylePagination((args) =>
    Object.keys(args ?? {}).filter((name) => !PAGINATION_ARGUMENTS.has(name)),
  );
}

/** Configures Apollo's cache: object keys, and how the pages of a list are merged. */
function createApolloCache(): InMemoryCache {
  return new InMemoryCache({
    typePolicies: {
      Query: {
        fields: {
          // `jobs` is missing on purpose: `CursorPager` shows one page at a time, so pages are cached separately.
          webhookDeliveries: paginatedField(),
          requestLog: paginatedField(),
          organizations: paginatedField(),
          accountRequests: paginatedField(),
          mailOutbox: paginatedField(),
          auditLog: paginatedField(),
          // Replaces the list; without this Apollo warns when a list gets shorter.
          webhookEndpoints: { merge: false },
          apiKeys: { merge: false },
        },
      },
      Job: { fields: { history: paginatedField() } },
      Viewer: { keyFields: [] },
      JobStatus: { keyFields: ["code"] },
      FailureReason: { keyFields: ["code"] },
      // Two queries read different fields of it.
      OrganizationOverview: { merge: true },
      // The list of endpoints reads fewer fields than the page of one.
      WebhookEndpointHealth: { merge: true },
      RequestLogEntry: { keyFields: ["requestId"] },
    },
  });
}
