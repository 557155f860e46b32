/** What the adapter knows of a request, from its first middleware on. */
import type { Response } from "express";
import type { SessionHolder } from "../accounts/session.holder.ts";
import type { KeyHolder, KeyPrincipal } from "../api-keys/api-key.memory.ts";
import { invariant } from "../platform/errors.ts";

export interface RequestContext {
  readonly requestId: string;
  /** The route as it is written (`/v1/jobs/by-marking/{markingNumber}`), for logs and metrics; never what was asked. */
  route: string;
  /** Whose key or session came, once that is known. */
  holder: KeyHolder | SessionHolder | null;
  /** What went wrong, as the caller is told; null: nothing did. */
  failure: ToldFailure | null;
}

export interface ToldFailure {
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
export function principalOf(response: Response): KeyPrincipal {
  const { holder } = contextOf(response);
  const isPartnersKey = holder && holder.keyId !== null && holder.organizationId !== null;
  invariant(isPartnersKey, "the route is behind authenticate");
  return holder;
}
