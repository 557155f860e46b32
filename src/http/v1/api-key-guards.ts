/** Middlewares of every v1 route: authentication by API key, scopes and rate limit. */
import type { RequestHandler } from "express";
import { type KeyVerifier, requireApiKey, requireScope, type Scope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { type RateLimitClass, type RateLimits, takeTokens } from "../../rate-limits/api.ts";
import { simulatedStatuses } from "../../test-mode/api.ts";
import { contextOf, principalOf } from "../context.ts";
import { noSuchRoute } from "../error-handler.ts";
import type { Simulate } from "../simulate.ts";

/**
 * Returns the guards of a route, which takes tokens of class `kind` and requires a key with all `scopes`; an empty list: any key.
 * With `testKeysOnly` a live key gets the 404 of an unknown route.
 */
export type ApiKeyGuards = (
  kind: RateLimitClass,
  scopes: readonly Scope[],
  options?: KeyOptions,
) => RequestHandler[];

interface KeyOptions {
  testKeysOnly: boolean;
}

interface GuardDeps {
  verifier: KeyVerifier;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
}

export function createApiKeyGuards({ verifier, limits }: GuardDeps, simulate: Simulate): ApiKeyGuards {
  return (kind, scopes, options) => [
    authenticate(verifier, scopes, options),
    rateLimit(limits, kind, simulate),
  ];
}

/** Returns a middleware that requires an organisation's key with all `scopes`; otherwise 401 or 403. */
function authenticate(verifier: KeyVerifier, scopes: readonly Scope[], options?: KeyOptions): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(requireApiKey(request.headers), request.ip ?? "");
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "Operator keys only work with /graphql; use a key of an organisation",
      );
    contextOf(response).principal = principal;
    if (options?.testKeysOnly && principal.liveOrganizationId === undefined) throw noSuchRoute();
    for (const scope of scopes) requireScope(principal, scope);
    next();
  };
}

/** Limits requests of class `kind` and sets the rate limit headers. After that, test keys can simulate a failure. */
function rateLimit(limits: RateLimits | null, kind: RateLimitClass, simulate: Simulate): RequestHandler {
  return async (request, response, next) => {
    const {
      rateBucket: bucketKey,
      organizationId,
      liveOrganizationId: partner,
      rateLimits,
    } = principalOf(response);
    const subject = { kind: "key", bucketKey, organizationId, rateLimits } as const;
    await takeTokens(limits, subject, { kind }, (name, value) => response.setHeader(name, value));
    const isOpen =
      partner === undefined ||
      (await simulate(request, response, { partner, subject, kind, statuses: simulatedStatuses }));
    if (isOpen) next();
  };
}
