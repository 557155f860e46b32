/** What other features and the adapters may import from request-log. */
export { ensureDailyPartitions } from "./request-log.partitions.ts";
export { readRequestLogCursor, requestLogCursor } from "./request-log.queries.ts";
export type { RequestRecorder } from "./request-log.recorder.ts";
export { openRequestLog, type RequestLog } from "./request-log.service.ts";
