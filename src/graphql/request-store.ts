/** Data of the current HTTP request, in AsyncLocalStorage. */
import { AsyncLocalStorage } from "node:async_hooks";
import { invariant } from "../platform/errors.ts";
import type { AuthenticatedPrincipal } from "./principal.ts";

export interface MeasuredOperation {
  readonly cost: number;
  /** Coerced, with defaults. Absent variables without a default are missing. */
  readonly variables: Readonly<Record<string, unknown>>;
}

export interface RequestStore {
  readonly requestId: string;
  /** The client's IP address. */
  readonly address: string | null;
  /** Null for anonymous requests. */
  readonly principal: AuthenticatedPrincipal | null;
  /** Aborts if the client disconnects before the response is complete. */
  readonly signal: AbortSignal;
  readonly setHeader: (name: string, value: string) => void;
  /** Runs a call to another server. The request does not count as in flight during the call. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** Called for a response with errors, with the first error's code. */
  readonly setFailure: (failure: { code: string; responseBody: unknown }) => void;
  /** Set after the operation has passed all checks and its variables are valid. */
  measured: MeasuredOperation | null;
}

// Apollo passes no context where it formats errors or rejects invalid requests.
const requestStorage = new AsyncLocalStorage<RequestStore>();

export function runWithRequest(request: RequestStore, work: () => void): void {
  requestStorage.run(request, work);
}

export function currentRequest(): RequestStore {
  const request = requestStorage.getStore();
  invariant(request, "Apollo runs inside runWithRequest");
  return request;
}
