/** The exports of this feature: other features and the adapters import only from here. */
export { ensureDailyPartitions } from "./request-log.partitions.sql.ts";
export { requestLogCursor } from "./request-log.read.sql.ts";
export { deleteRequestsOf } from "./request-log.write.sql.ts";
export type { RequestRecorder } from "./request-log.recorder.ts";
export { openRequestLog, type RequestLog } from "./request-log.service.ts";
