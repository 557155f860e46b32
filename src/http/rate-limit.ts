/** Rate limits as a middleware. */
import type { RequestHandler } from "express";
import { takeToken, type RateLimitClass } from "../api-keys/rate-limit.ts";
import type { RateLimitStore } from "../api-keys/rate-limit.store.ts";
import { principalOf } from "./context.ts";

/** Limits `kind` of request; a null `store`: rate limits are off. Sets both families of headers on every answer. */
export function rateLimit(store: RateLimitStore | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    const { keyId: bucket, rateLimits } = principalOf(response);
    await takeToken(store, { bucket, rateLimits }, kind, (name, value) => response.setHeader(name, value));
    next();
  };
}
