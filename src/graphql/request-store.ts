/** What the adapter knows of the HTTP request that is being answered, wherever in Apollo's course that is asked. */
import { AsyncLocalStorage } from "node:async_hooks";
import { invariant } from "../platform/errors.ts";
import type { AuthenticatedPrincipal } from "./principal.ts";

export interface MeasuredOperation {
  readonly cost: number;
  /** Coerced: defaults are in, what was not given is not there. */
  readonly variables: Readonly<Record<string, unknown>>;
}

export interface RequestStore {
  readonly requestId: string;
  /** Where the request comes from. */
  readonly address: string | null;
  /** Null: nobody known. */
  readonly principal: AuthenticatedPrincipal | null;
  /** Aborts when the client goes away before its answer. */
  readonly signal: AbortSignal;
  readonly setHeader: (name: string, value: string) => void;
  /** Runs a call to another server. Meanwhile the request does not count as in flight. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** Told of an answer with errors, by the first one's code. */
  readonly setFailure: (failure: { code: string; answer: unknown }) => void;
  /** Set once the operation has passed every check and its variables are sound. */
  measured: MeasuredOperation | null;
}

// Apollo formats errors, and refuses what is no operation, in places that it hands no context to.
const requestStorage = new AsyncLocalStorage<RequestStore>();

export function runWithRequest(request: RequestStore, work: () => void): void {
  requestStorage.run(request, work);
}

export function currentRequest(): RequestStore {
  const request = requestStorage.getStore();
  invariant(request, "the visit was begun before Apollo was asked");
  return request;
}
