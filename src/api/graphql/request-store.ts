/** Data of the current HTTP request, or of the current message of a WebSocket, in AsyncLocalStorage. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ExecutionArgs, OperationDefinitionNode } from "graphql";
import { invariant } from "../../core/errors.ts";
import type { ShareKind } from "../in-flight.ts";
import type { IncomingOperation } from "./context.ts";

/** A subscription that has passed all checks. */
export interface CheckedSubscription extends Pick<ExecutionArgs, "schema" | "document"> {
  readonly operation: OperationDefinitionNode;
  readonly operationName: string | undefined;
  readonly variableValues: Record<string, unknown>;
}

export interface RequestStore extends IncomingOperation {
  /** WebSockets take subscriptions only, HTTP takes all other operations. */
  readonly transport: "http" | "websocket";
  readonly idempotencyKey?: string | undefined;
  readonly setHeader: (name: string, value: string) => void;
  /** Called for a response with errors, with the first error's code. */
  readonly setFailure: (failure: { code: string; responseBody: unknown }) => void;
  /** Runs an operation in the share of its partner. Throws TooManyRequestsException. */
  readonly inShare: <T>(kind: ShareKind, work: () => Promise<T>) => Promise<T>;
  /** Set instead of executing a subscription: its WebSocket starts it. */
  subscription: CheckedSubscription | null;
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
