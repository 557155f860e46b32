/** Middlewares of every v1 route: authentication by API key, scopes and rate limit. */
import type { RequestHandler } from "express";
import { type KeyVerifier, requireApiKey, requireScope, type Scope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { type RateLimitClass, type RateLimits, takeTokens } from "../../rate-limits/api.ts";
import { contextOf, principalOf } from "../context.ts";

export interface ApiKeyGuards {
  read: RequestHandler[];
  write: RequestHandler[];
  batch: RequestHandler[];
}

export function createApiKeyGuards(verifier: KeyVerifier, limits: RateLimits | null): ApiKeyGuards {
  const reader = authenticate(verifier, "jobs:read");
  // Changes need jobs:read too, because they return the job.
  const writer = authenticate(verifier, "jobs:write", "jobs:read");
  return {
    read: [reader, rateLimit(limits, "read")],
    write: [writer, rateLimit(limits, "write")],
    batch: [writer, rateLimit(limits, "batch")],
  };
}

/** Returns a middleware that requires an organisation's key with all `scopes`; otherwise 401 or 403. */
function authenticate(verifier: KeyVerifier, ...scopes: Scope[]): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(requireApiKey(request.headers), request.ip ?? "");
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "Operator keys only work with /graphql; use a key of an organisation",
      );
    contextOf(response).principal = principal;
    for (const scope of scopes) requireScope(principal, scope);
    next();
  };
}

/** Limits requests of class `kind` and sets the rate limit headers. `limits` is null if rate limits are off. */
function rateLimit(limits: RateLimits | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    const { rateBucket: bucketKey, organizationId, rateLimits } = principalOf(response);
    const subject = { kind: "key", bucketKey, organizationId, rateLimits } as const;
    await takeTokens(limits, subject, { kind }, (name, value) => response.setHeader(name, value));
    next();
  };
}
