/** The token buckets that processes share when RATE_LIMIT_STORE is `postgres`. Losing them in a crash is harmless. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const RateLimitBucket = defineEntity({
  name: "RateLimitBucket",
  tableName: "rate_limit_bucket",
  properties: {
    id: p.text().primary(),
    tokens: p.double(),
    /** Whether the last request was let through. */
    allowed: p.boolean(),
    updatedAt: p.datetime(6),
  },
});
