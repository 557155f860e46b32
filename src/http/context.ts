/** What the adapter knows of a request, from its first middleware on. */
import type { Response } from "express";
import type { SessionPrincipal } from "../accounts/api.ts";
import type { ApiKeyPrincipal, OrganizationKeyPrincipal } from "../api-keys/api.ts";
import { invariant } from "../platform/errors.ts";

export interface RequestContext {
  readonly requestId: string;
  /** The route as it is written (`/v1/jobs/by-marking/{markingNumber}`), for logs and metrics; never what was asked. */
  route: string;
  /** Whose key or session came, once that is known. */
  principal: ApiKeyPrincipal | SessionPrincipal | null;
  /** What went wrong, as the caller is told; null: nothing did. */
  failure: RecordedFailure | null;
}

export interface RecordedFailure {
  readonly code: string;
  readonly answer: unknown;
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

/** The authenticated partner; only routes behind `authenticate` may ask. */
export function principalOf(response: Response): OrganizationKeyPrincipal {
  const { principal } = contextOf(response);
  const isOrganizationKey = principal && principal.keyId !== null && principal.organizationId !== null;
  invariant(isOrganizationKey, "the route is behind authenticate");
  return principal;
}
