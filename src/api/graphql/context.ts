/** The data of a request: for resolvers with the database to read from and the services, and for Apollo in AsyncLocalStorage. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Response } from "express";
import type { ExecutionArgs } from "graphql";
import { invariant } from "../../core/errors.ts";
import type { Queryable, Reader } from "../../core/postgres/database.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { Loaders } from "./loaders.ts";
import type { GraphqlServices } from "./services.ts";

/** The request data of one operation, or of one event of a subscription. */
export interface IncomingOperation {
  /** Null for anonymous requests, which may only introspect. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
  readonly ipAddress: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

interface Sources {
  readonly services: GraphqlServices;
  /** For reads. Its statements are cancelled when `signal` aborts. */
  readonly database: Reader;
  /** Returns the database for job lists and aggregates: the primary, or a replica that has everything the principal may have read. */
  readonly readerFor: (principal: AuthenticatedPrincipal) => Queryable;
}

export interface GraphqlContext extends IncomingOperation, Sources {
  readonly principal: AuthenticatedPrincipal;
  readonly loaders: Loaders;
}

export function createContext(request: IncomingOperation, sources: Sources): GraphqlContext {
  // The guard rejects every field with a resolver for anonymous requests.
  const principal = request.principal as AuthenticatedPrincipal;
  return { ...request, ...sources, principal, loaders: new Loaders({ ...sources, principal }) };
}

/** Data of the current HTTP request, or of the current message of a WebSocket. */
export interface RequestStore extends IncomingOperation {
  /** Null on a WebSocket, which takes subscriptions only. */
  readonly response: Response | null;
  /** Set instead of executing a subscription that has passed all checks: its WebSocket starts it. */
  subscription: ExecutionArgs | null;
}

// Apollo passes no context where it formats errors or rejects invalid requests.
const requestStorage = new AsyncLocalStorage<RequestStore>();

export function runWithRequest<Result>(
  request: Omit<RequestStore, "subscription">,
  work: () => Result,
): Result {
  return requestStorage.run({ ...request, subscription: null }, work);
}

export function currentRequest(): RequestStore {
  const request = requestStorage.getStore();
  invariant(request, "Apollo runs inside runWithRequest");
  return request;
}

/** Returns the response to the current HTTP request. Throws on a WebSocket. */
export function currentResponse(): Response {
  const { response } = currentRequest();
  invariant(response, "only HTTP requests have queries and mutations");
  return response;
}
