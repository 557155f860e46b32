/** The exports of this feature: other features and the adapters import only from here. */
export { RateLimitBucket } from "./rate-limit.entity.ts";
export { createMemoryStore, createPostgresStore, purgeBuckets } from "./rate-limit.store.ts";
export {
  effectiveLimit,
  organizationLimit,
  type RateLimitClass,
  type RateLimitOverrides,
  rateLimitClasses,
  type RateLimits,
  type RateLimitSubject,
  takeToken,
  takeTokens,
} from "./rate-limit.ts";
