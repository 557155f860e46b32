/** The log of partners' requests: written beside them, read by them, kept for as long as the log of deliveries. */
import type { Registry } from "prom-client";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import type { Logger } from "../platform/logger.ts";
import { ensureDailyPartitions, purgeExpiredRequests } from "./request-log.partitions.ts";
import {
  listRequestLog,
  listUsage,
  type RequestLogPage,
  type RequestLogListOptions,
  type RequestLogReader,
  type UsageView,
} from "./request-log.queries.ts";
import { createRequestRecorder, type RequestRecorder } from "./request-log.recorder.ts";

/** Disposing writes what there is. */
export interface RequestLog extends RequestRecorder {
  /** Newest first. */
  list(reader: RequestLogReader, request: RequestLogListOptions, on?: Queryable): Promise<RequestLogPage>;
  /** `days` back, today included: by day and key, oldest first. `organizationId`: a uuid. */
  usage(organizationId: string, days: number, on?: Queryable): Promise<UsageView[]>;
  /** Drops the days that are over; answers with the names of their tables. */
  purgeExpired(): Promise<string[]>;
}

export interface RequestLogDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  registry: Registry;
  retentionDays: number;
}

const DAY_MS = 86_400_000;

/** Also makes the days that are missing, in which whatever comes finds its place. */
export async function openRequestLog(deps: RequestLogDeps): Promise<RequestLog> {
  const { database, clock, retentionDays } = deps;
  await ensureDailyPartitions(database, clock.now());
  return {
    ...createRequestRecorder(deps),
    list: (reader, request, on = database) =>
      listRequestLog(on, reader, { ...request, sinceMs: clock.now() - retentionDays * DAY_MS }),
    usage: (organizationId, days, on = database) =>
      listUsage(on, organizationId, { nowMs: clock.now(), days }),
    async purgeExpired() {
      const dropped = await purgeExpiredRequests(database, retentionDays);
      await ensureDailyPartitions(database, clock.now());
      return dropped;
    },
  };
}
