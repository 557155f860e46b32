/** Data of the current HTTP request, or of the current message of a WebSocket, in AsyncLocalStorage. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Response } from "express";
import type { ExecutionArgs } from "graphql";
import { invariant } from "../../core/errors.ts";
import type { IncomingOperation } from "./context.ts";

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
