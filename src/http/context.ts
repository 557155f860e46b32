/** What the adapter knows of a request, from its first middleware on. */
import type { Response } from "express";
import type { KeyPrincipal } from "../api-keys/api-key.memory.ts";
import { invariant } from "../platform/errors.ts";

export interface RequestContext {
  readonly requestId: string;
  /** The route as it is written (`/v1/jobs/by-marking/{markingNumber}`), for logs and metrics; never what was asked. */
  route: string;
  principal: KeyPrincipal | null;
}

/** The context of the request that `response` answers. */
export function contextOf(response: Response): RequestContext {
  const context = (response.locals as { context?: RequestContext }).context;
  invariant(context, "the first middleware has set the context");
  return context;
}

export function setContext(response: Response, context: RequestContext): void {
  (response.locals as { context?: RequestContext }).context = context;
}

/** The authenticated caller; only routes behind `authenticate` may ask. */
export function principalOf(response: Response): KeyPrincipal {
  const { principal } = contextOf(response);
  invariant(principal, "the route is behind authenticate");
  return principal;
}
