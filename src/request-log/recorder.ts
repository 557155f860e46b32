/**
 * What is to be written of requests, gathered in memory, so that no request waits for it. Bounded: where PostgreSQL is
 * away, or cannot keep up, the oldest that were not written are kept, and what comes beyond is counted and forgotten.
 */
import { Counter, type Registry } from "prom-client";
import type { Queryable } from "../platform/database.ts";
import { isUnavailable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { maskedJson } from "./mask.ts";
import { writeRequests, type LoggedRequest } from "./writer.ts";

/** A request that is over, as it was. */
export interface EndedRequest extends Omit<LoggedRequest, "requestBody" | "responseBody"> {
  /** Parsed; undefined: none, or no JSON. */
  readonly body: unknown;
  /** Of a failed one, as it was told. */
  readonly answer: unknown;
}

export interface RequestRecorder extends AsyncDisposable {
  /** Costs next to nothing, and never fails. */
  record(request: EndedRequest): void;
  /** Writes what there is; resolves when it is written, or cannot be. */
  flush(): Promise<void>;
}

export interface RecorderParts {
  database: Queryable;
  logger: Logger;
  registry: Registry;
}

const FLUSH_EVERY_MS = 1_000;
const AT_ONCE = 1_000;
const CAPACITY = 20_000;
/** Of failed requests, so that bodies cannot fill the memory either. */
const BODY_CAPACITY = 2_000;
const STOP_WITHIN_MS = 5_000;
const MAX_PATH = 1_000;

export function createRequestRecorder({ database, logger, registry }: RecorderParts): RequestRecorder {
  const dropped = new Counter({
    name: "waymark_request_log_dropped_total",
    help: "Requests that the log does not have, since PostgreSQL was away or could not keep up",
    registers: [registry],
  });
  let waiting: LoggedRequest[] = [];
  let bodies = 0;
  let writing: Promise<void> | null = null;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, AT_ONCE);
      try {
        await writeRequests(database, batch);
      } catch (error) {
        // Away, overloaded or short of something: it may work later.
        if (isUnavailable(error)) return;
        // Never again and again: what PostgreSQL refuses once it refuses always.
        logger.error({ error: (error as Error).message }, "requests could not be logged");
        dropped.inc(batch.length);
      }
      waiting = waiting.slice(batch.length);
      bodies -= batch.filter(hasBody).length;
    }
  };
  const flush = (): Promise<void> => (writing ??= write().finally(() => (writing = null)));
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS);
  timer.unref();

  return {
    record({ body, answer, ...request }) {
      if (waiting.length >= CAPACITY) {
        dropped.inc();
        return;
      }
      const isFailed = request.status >= 400 && bodies < BODY_CAPACITY;
      const kept: LoggedRequest = {
        ...request,
        path: request.path.slice(0, MAX_PATH),
        requestBody: isFailed ? maskedJson(body) : null,
        responseBody: isFailed ? maskedJson(answer) : null,
      };
      if (hasBody(kept)) bodies += 1;
      if (waiting.push(kept) % AT_ONCE === 0) void flush();
    },
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      const late = Promise.withResolvers<void>();
      const timeout = setTimeout(late.resolve, STOP_WITHIN_MS);
      // The one under way has not taken what came after it.
      await Promise.race([late.promise, flush().then(flush)]);
      clearTimeout(timeout);
      dropped.inc(waiting.length);
    },
  };
}

function hasBody({ requestBody, responseBody }: LoggedRequest): boolean {
  return requestBody !== null || responseBody !== null;
}
