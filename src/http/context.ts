/** Context of a request, set by the first middleware. */
import type { RequestHandler, Response } from "express";
import type { SessionPrincipal } from "../accounts/api.ts";
import type { ApiKeyPrincipal, OrganizationKeyPrincipal } from "../api-keys/api.ts";
import { invariant } from "../platform/errors.ts";

export interface RequestContext {
  readonly requestId: string;
  /** Route pattern (`/v1/jobs/by-marking/{markingNumber}`), for logs and metrics; never the requested path. */
  route: string;
  /** Null until the request is authenticated. */
  principal: ApiKeyPrincipal | SessionPrincipal | null;
  /** The error that was sent to the client; null if none. */
  failure: RecordedFailure | null;
}

export interface RecordedFailure {
  readonly code: string;
  readonly responseBody: unknown;
}

/** Returns the context of the request of `response`. */
export function contextOf(response: Response): RequestContext {
  const context = (response.locals as { context?: RequestContext }).context;
  invariant(context, "the first middleware has set the context");
  return context;
}

export function setContext(response: Response, context: RequestContext): void {
  (response.locals as { context?: RequestContext }).context = context;
}

/** Returns a middleware that sets the route pattern of the request, for logs and metrics. */
export function tagRoute(route: string): RequestHandler {
  return (_request, response, next) => {
    contextOf(response).route = route;
    next();
  };
}

/** Returns the principal of a route behind `authenticate`; throws in other routes. */
export function principalOf(response: Response): OrganizationKeyPrincipal {
  const { principal } = contextOf(response);
  const isOrganizationKey = principal && principal.keyId !== null && principal.organizationId !== null;
  invariant(isOrganizationKey, "the route is behind authenticate");
  return principal;
}
