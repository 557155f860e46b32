/** The log of partners' requests: written beside them, read by them, kept for as long as the log of deliveries. */
import type { Registry } from "prom-client";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import type { Logger } from "../platform/logger.ts";
import { ensureDays, retireRequests } from "./days.ts";
import {
  listRequests,
  listUsage,
  type RequestPage,
  type RequestPageRequest,
  type RequestReader,
  type UsageView,
} from "./queries.ts";
import { createRequestRecorder, type RequestRecorder } from "./recorder.ts";

export { ensureDays };
export {
  readRequestCursor,
  requestCursor,
  type RequestFilter,
  type RequestPage,
  type UsageView,
} from "./queries.ts";
export type { EndedRequest, RequestRecorder } from "./recorder.ts";

/** Disposing writes what there is. */
export interface RequestLog extends RequestRecorder {
  /** Newest first. */
  list(reader: RequestReader, request: RequestPageRequest, on?: Queryable): Promise<RequestPage>;
  /** `days` back, today included: by day and key, oldest first. `organizationId`: a uuid. */
  usage(organizationId: string, days: number, on?: Queryable): Promise<UsageView[]>;
  /** Drops the days that are over; answers with the names of their tables. */
  retire(): Promise<string[]>;
}

export interface RequestLogParts {
  database: Database;
  clock: Clock;
  logger: Logger;
  registry: Registry;
  retentionDays: number;
}

const DAY_MS = 86_400_000;

/** Also makes the days that are missing, in which whatever comes finds its place. */
export async function openRequestLog(parts: RequestLogParts): Promise<RequestLog> {
  const { database, clock, retentionDays } = parts;
  await ensureDays(database, clock.now());
  return {
    ...createRequestRecorder(parts),
    list: (reader, request, on = database) =>
      listRequests(on, reader, { ...request, sinceMs: clock.now() - retentionDays * DAY_MS }),
    usage: (organizationId, days, on = database) =>
      listUsage(on, organizationId, { nowMs: clock.now(), days }),
    async retire() {
      const dropped = await retireRequests(database, retentionDays);
      await ensureDays(database, clock.now());
      return dropped;
    },
  };
}
