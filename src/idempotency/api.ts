/** What other features and the adapters may import from idempotency. */
export { IdempotencyRecord } from "./idempotency.entity.ts";
export {
  IDEMPOTENCY_STORAGE_LIMITS,
  purgeIdempotencyRecords,
  trimIdempotencyRecords,
} from "./idempotency.purge.ts";
