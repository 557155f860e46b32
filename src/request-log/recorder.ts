/**
 * Buffers finished requests in memory and writes them in batches, so that no request waits for the log. If PostgreSQL is
 * unavailable or too slow and the buffer is full, new entries are dropped and counted.
 */
import { Counter, type Registry } from "prom-client";
import type { Queryable } from "../core/postgres/database.ts";
import { isUnavailable } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { LogBudget } from "./budget.ts";
import { redactJson } from "./redaction.ts";
import { insertRequestLogEntries, type RequestLogEntry } from "./write.sql.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";

/** A finished request, before redaction. */
export interface FinishedRequest extends Omit<RequestLogEntry, "requestBody" | "responseBody" | "isLogged"> {
  /** The UUID of the organisation's partner. */
  readonly partnerId: string;
  /** The parsed JSON body; undefined if there is none. */
  readonly requestBodyValue: unknown;
  /** The response body of a failed request. */
  readonly responseBodyValue: unknown;
}

export interface RequestRecorder extends AsyncDisposable {
  /** Cheap, and never throws. */
  record(request: FinishedRequest): void;
  /** Writes buffered entries. Resolves when they are written or PostgreSQL is unavailable. */
  flush(): Promise<void>;
}

export interface RequestRecorderDeps {
  database: Queryable;
  logger: Logger;
  registry: Registry;
}

const FLUSH_INTERVAL_MS = 1_000;
const BATCH_SIZE = 1_000;
const STOP_TIMEOUT_MS = 5_000;
const MAX_PATH_LENGTH = 1_000;

export function createRequestRecorder({ database, logger, registry }: RequestRecorderDeps): RequestRecorder {
  const dropped = new Counter({
    name: "waymark_request_log_entries_dropped_total",
    help: "Request log entries dropped because PostgreSQL was unavailable or too slow",
    registers: [registry],
  });
  const budget = new LogBudget();
  let pending: QueuedEntry[] = [];
  let writing: Promise<void> | null = null;

  const write = async (): Promise<void> => {
    while (pending.length > 0) {
      const batch = pending.slice(0, BATCH_SIZE);
      try {
        await insertRequestLogEntries(database, batch);
      } catch (error) {
        // Unavailable or overloaded: keep the batch and try again later.
        if (isUnavailable(error)) return;
        // PostgreSQL would reject this batch again: drop it instead of retrying.
        logger.error({ error: (error as Error).message }, "request log entries were rejected and dropped");
        dropped.inc(batch.length);
      }
      pending = pending.slice(batch.length);
      for (const entry of batch) budget.onWritten(entry);
    }
  };
  const flush = (): Promise<void> => (writing ??= write().finally(() => (writing = null)));
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS);
  timer.unref();

  return {
    record({ requestBodyValue, responseBodyValue, ...request }) {
      const decision = budget.decide(request.partnerId, request.status, performance.now());
      if (!decision) {
        dropped.inc();
        return;
      }
      const { isLogged, hasBodies } = decision;
      const entry: QueuedEntry = {
        ...request,
        isLogged,
        path: request.path.slice(0, MAX_PATH_LENGTH),
        requestBody: hasBodies ? redactJson(requestBodyValue) : null,
        responseBody: hasBodies ? redactJson(responseBodyValue) : null,
      };
      budget.onQueued(entry);
      if (pending.push(entry) % BATCH_SIZE === 0) void flush();
    },
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // A flush already in progress may have missed the latest entries, so flush twice.
      await withTimeout(flush().then(flush), STOP_TIMEOUT_MS);
      dropped.inc(pending.length);
    },
  };
}

type QueuedEntry = RequestLogEntry & Pick<FinishedRequest, "partnerId">;
