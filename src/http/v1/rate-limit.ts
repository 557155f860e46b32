/** The rate limit middleware of v1. */
import type { RequestHandler } from "express";
import { type RateLimitClass, type RateLimits, takeToken } from "../../rate-limits/api.ts";
import { principalOf } from "../context.ts";

/** Limits requests of class `kind` and sets the rate limit headers. `limits` is null if rate limits are off. */
export function rateLimit(limits: RateLimits | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    const { rateBucket: bucketKey, organizationId, rateLimits } = principalOf(response);
    const subject = { kind: "key", bucketKey, organizationId, rateLimits } as const;
    await takeToken(limits, subject, kind, (name, value) => response.setHeader(name, value));
    next();
  };
}
