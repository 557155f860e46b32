/** The exports of this feature: other features and the adapters import only from here. */
export { ensureDailyPartitions } from "./partitions.sql.ts";
export { requestLogCursor } from "./read.sql.ts";
export { deleteRequestsOf } from "./write.sql.ts";
export { openRequestLog, type RequestLog } from "./service.ts";
