/** The exports of this feature: other features and the adapters import only from here. */
export { RateLimitBucket } from "./entity.ts";
export { createPostgresStore, purgeBuckets } from "./rate-limit.sql.ts";
export { createMemoryStore, type RateLimitStore } from "./store.ts";
export {
  effectiveLimit,
  exhaustLimit,
  limitHeaders,
  type RateLimitClass,
  type RateLimitOverrides,
  rateLimitClasses,
  type RateLimits,
  rateLimitsOf,
  type RateLimitSubject,
  takeTokens,
} from "./rate-limit.ts";
