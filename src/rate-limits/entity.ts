/** Token buckets shared by all processes, used with RATE_LIMIT_STORE=postgres. Losing them in a crash is harmless. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const RateLimitBucket = defineEntity({
  name: "RateLimitBucket",
  tableName: "rate_limit_bucket",
  properties: {
    id: p.text().primary(),
    tokens: p.double(),
    /** The result of the last request. */
    allowed: p.boolean(),
    updatedAt: p.datetime(6),
  },
});
