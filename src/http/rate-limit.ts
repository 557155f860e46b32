/** Rate limits as a middleware. */
import type { RequestHandler } from "express";
import { takeToken, type RateLimitClass, type RateLimits } from "../api-keys/rate-limit.ts";
import { principalOf } from "./context.ts";

/** Limits `kind` of request; null `limits`: rate limits are off. Sets both families of headers on every answer. */
export function rateLimit(limits: RateLimits | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    const { rateBucket: bucket, organizationId, rateLimits } = principalOf(response);
    const owner = { kind: "key", bucket, organizationId, rateLimits } as const;
    await takeToken(limits, owner, kind, (name, value) => response.setHeader(name, value));
    next();
  };
}
