/** The log of organisations' API requests, for the console. Kept for RETENTION_DAYS, like the delivery log. */
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Page } from "../core/postgres/list-page.ts";
import { DAY_MS } from "../core/time.ts";
import { ensureDailyPartitions, purgeExpiredRequests } from "./partitions.sql.ts";
import {
  listRequestLog,
  listUsage,
  type RequestLogEntryView,
  type RequestLogListOptions,
  type RequestLogReader,
  type UsageView,
} from "./read.sql.ts";
import { createRequestRecorder, type RequestRecorder, type RequestRecorderDeps } from "./recorder.ts";

/** Disposing writes buffered entries, for at most 5 seconds. */
export interface RequestLog extends RequestRecorder {
  /** Newest first. */
  list(
    reader: RequestLogReader,
    request: RequestLogListOptions,
    on?: Queryable,
  ): Promise<Page<RequestLogEntryView>>;
  /** Throws NotFoundException if there is no such request, or it is not in the log yet or no longer. `requestId`: typed. */
  get(reader: RequestLogReader, requestId: string): Promise<RequestLogEntryView>;
  /** Returns usage by day and key, oldest first. `organizationId`: a uuid; `days`: including today. */
  usage(organizationId: string, days: number, on?: Queryable): Promise<UsageView[]>;
  /** Drops partitions past the retention time, and creates missing ones. Returns the dropped tables' names. */
  purgeExpired(): Promise<string[]>;
}

interface RequestLogDeps extends RequestRecorderDeps {
  clock: Clock;
  retentionDays: number;
}

/** Creates missing partitions first, so that entries can be written. */
export async function openRequestLog(deps: RequestLogDeps): Promise<RequestLog> {
  const { database, clock, retentionDays } = deps;
  await ensureDailyPartitions(database, clock.now());
  const list: RequestLog["list"] = (reader, request, on = database) =>
    listRequestLog(on, reader, { ...request, sinceMs: clock.now() - retentionDays * DAY_MS });
  return {
    ...createRequestRecorder(deps),
    list,
    async get(reader, requestId) {
      const { items } = await list(reader, { filter: { requestId }, limit: 1, after: null });
      if (items[0]) return items[0];
      const message = `There is no such request in the log. Requests appear within seconds and are kept for ${retentionDays} days`;
      throw new AppError("NotFoundException", message);
    },
    usage: (organizationId, days, on = database) =>
      listUsage(on, organizationId, { nowMs: clock.now(), days }),
    async purgeExpired() {
      const dropped = await purgeExpiredRequests(database, retentionDays);
      await ensureDailyPartitions(database, clock.now());
      return dropped;
    },
  };
}
