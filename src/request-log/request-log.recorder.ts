/**
 * What is to be written of requests, gathered in memory, so that no request waits for it. Bounded: where PostgreSQL is
 * away, or cannot keep up, the oldest that were not written are kept, and what comes beyond is counted and forgotten.
 */
import { Counter, type Registry } from "prom-client";
import type { Queryable } from "../platform/postgres/database.ts";
import { isUnavailable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { redactJson } from "./request-log.redaction.ts";
import { insertRequestLogEntries, type RequestLogEntry } from "./request-log.write.sql.ts";

/** A request that is over, as it was. */
export interface FinishedRequest extends Omit<RequestLogEntry, "requestBody" | "responseBody"> {
  /** Parsed; undefined: none, or no JSON. */
  readonly requestBodyValue: unknown;
  /** Of a failed one, as it was told. */
  readonly responseBodyValue: unknown;
}

export interface RequestRecorder extends AsyncDisposable {
  /** Costs next to nothing, and never fails. */
  record(request: FinishedRequest): void;
  /** Writes what there is; resolves when it is written, or cannot be. */
  flush(): Promise<void>;
}

export interface RequestRecorderDeps {
  database: Queryable;
  logger: Logger;
  registry: Registry;
}

const FLUSH_INTERVAL_MS = 1_000;
const BATCH_SIZE = 1_000;
const MAX_QUEUED_REQUESTS = 20_000;
/** Of failed requests, so that bodies cannot fill the memory either. */
const MAX_QUEUED_BODIES = 2_000;
const STOP_TIMEOUT_MS = 5_000;
const MAX_PATH_LENGTH = 1_000;

export function createRequestRecorder({ database, logger, registry }: RequestRecorderDeps): RequestRecorder {
  const dropped = new Counter({
    name: "waymark_request_log_entries_dropped_total",
    help: "Requests that the log does not have, since PostgreSQL was away or could not keep up",
    registers: [registry],
  });
  let pending: RequestLogEntry[] = [];
  let queuedBodies = 0;
  let writing: Promise<void> | null = null;

  const write = async (): Promise<void> => {
    while (pending.length > 0) {
      const batch = pending.slice(0, BATCH_SIZE);
      try {
        await insertRequestLogEntries(database, batch);
      } catch (error) {
        // Away, overloaded or short of something: it may work later.
        if (isUnavailable(error)) return;
        // Never again and again: what PostgreSQL refuses once it refuses always.
        logger.error({ error: (error as Error).message }, "requests could not be logged");
        dropped.inc(batch.length);
      }
      pending = pending.slice(batch.length);
      queuedBodies -= batch.filter(hasBody).length;
    }
  };
  const flush = (): Promise<void> => (writing ??= write().finally(() => (writing = null)));
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS);
  timer.unref();

  return {
    record({ requestBodyValue, responseBodyValue, ...request }) {
      if (pending.length >= MAX_QUEUED_REQUESTS) {
        dropped.inc();
        return;
      }
      const shouldStoreBodies = request.status >= 400 && queuedBodies < MAX_QUEUED_BODIES;
      const entry: RequestLogEntry = {
        ...request,
        path: request.path.slice(0, MAX_PATH_LENGTH),
        requestBody: shouldStoreBodies ? redactJson(requestBodyValue) : null,
        responseBody: shouldStoreBodies ? redactJson(responseBodyValue) : null,
      };
      if (hasBody(entry)) queuedBodies += 1;
      if (pending.push(entry) % BATCH_SIZE === 0) void flush();
    },
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      const stopTimeout = Promise.withResolvers<void>();
      const timeout = setTimeout(stopTimeout.resolve, STOP_TIMEOUT_MS);
      // The one under way has not taken what came after it.
      await Promise.race([stopTimeout.promise, flush().then(flush)]);
      clearTimeout(timeout);
      dropped.inc(pending.length);
    },
  };
}

function hasBody({ requestBody, responseBody }: RequestLogEntry): boolean {
  return requestBody !== null || responseBody !== null;
}
