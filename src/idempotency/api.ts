/** The exports of this feature: other features and the adapters import only from here. */
export { IdempotencyRecord } from "./idempotency.entity.ts";
export {
  IDEMPOTENCY_STORAGE_LIMITS,
  purgeIdempotencyRecords,
  trimIdempotencyRecords,
} from "./idempotency.purge.ts";
