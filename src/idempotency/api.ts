/** The exports of this feature: other features and the adapters import only from here. */
export { IdempotencyRecord } from "./entity.ts";
export {
  type FirstResponse,
  IdempotencyService,
  KeyInUseError,
  keyedRequest,
  keyProblem,
} from "./service.ts";
export { deleteRecordsOf, purgeIdempotencyRecords, trimIdempotencyRecords } from "./purge.sql.ts";
export type { KeyedRequest, StoredResponse } from "./stored-response.sql.ts";
