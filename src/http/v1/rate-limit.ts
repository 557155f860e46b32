/** Rate limits as a middleware. */
import type { RequestHandler } from "express";
import { type RateLimitClass, type RateLimits, takeToken } from "../../rate-limits/api.ts";
import { principalOf } from "../context.ts";

/** Limits `kind` of request; null `limits`: rate limits are off. Sets both families of headers on every answer. */
export function rateLimit(limits: RateLimits | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    const { rateBucket: bucketKey, organizationId, rateLimits } = principalOf(response);
    const subject = { kind: "key", bucketKey, organizationId, rateLimits } as const;
    await takeToken(limits, subject, kind, (name, value) => response.setHeader(name, value));
    next();
  };
}
