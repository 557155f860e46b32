/**
 * Buffers finished requests in memory and writes them in batches, so that no request waits for the log. If PostgreSQL is
 * unavailable or too slow and the buffer is full, new entries are dropped and counted.
 */
import { Counter, type Registry } from "prom-client";
import type { Queryable } from "../platform/postgres/database.ts";
import { isUnavailable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { redactJson } from "./request-log.redaction.ts";
import { insertRequestLogEntries, type RequestLogEntry } from "./request-log.write.sql.ts";
import { TokenBucket } from "../platform/concurrency/token-bucket.ts";
import { withTimeout } from "../platform/concurrency/timeout.ts";

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
const MAX_QUEUED_REQUESTS = 20_000;
/** Limits the memory used by bodies. */
const MAX_QUEUED_BODIES = 2_000;
/** One partner's share of both, so that its flood drops no entries of others. */
const PARTNER_SHARE = 0.5;
/**
 * What one partner can add to the log: entries of requests that were rejected with 429, which its rate limits do not bound, and
 * bodies, which take 4 KiB each. Beyond it requests are counted, or logged without bodies.
 */
const partnerRates = {
  rejected: { perSecond: 1, burst: 100 },
  bodies: { perSecond: 1, burst: 200 },
};
/** Partners with such a rate in memory. */
const MAX_RATED_PARTNERS = 10_000;
const STOP_TIMEOUT_MS = 5_000;
const MAX_PATH_LENGTH = 1_000;

export function createRequestRecorder({ database, logger, registry }: RequestRecorderDeps): RequestRecorder {
  const dropped = new Counter({
    name: "waymark_request_log_entries_dropped_total",
    help: "Request log entries dropped because PostgreSQL was unavailable or too slow",
    registers: [registry],
  });
  let pending: QueuedEntry[] = [];
  const queuedBodies = new Tally();
  const queued = new Tally();
  const rates = new Map<string, Record<keyof typeof partnerRates, TokenBucket>>();
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
      for (const entry of batch) {
        queued.remove(entry.partnerId);
        if (hasBody(entry)) queuedBodies.remove(entry.partnerId);
      }
    }
  };
  const ratesOf = (partnerId: string, nowMs: number) => {
    const known = rates.get(partnerId);
    if (known) return known;
    if (rates.size >= MAX_RATED_PARTNERS) rates.clear();
    const rate = {
      rejected: new TokenBucket(partnerRates.rejected, nowMs),
      bodies: new TokenBucket(partnerRates.bodies, nowMs),
    };
    rates.set(partnerId, rate);
    return rate;
  };
  const flush = (): Promise<void> => (writing ??= write().finally(() => (writing = null)));
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS);
  timer.unref();

  return {
    record({ requestBodyValue, responseBodyValue, ...request }) {
      const { partnerId, status } = request;
      if (!queued.hasRoom(partnerId, MAX_QUEUED_REQUESTS)) {
        dropped.inc();
        return;
      }
      const nowMs = performance.now();
      const rate = ratesOf(partnerId, nowMs);
      const isLogged = status !== 429 || rate.rejected.take(nowMs);
      const shouldStoreBodies =
        isLogged &&
        status >= 400 &&
        queuedBodies.hasRoom(partnerId, MAX_QUEUED_BODIES) &&
        rate.bodies.take(nowMs);
      const entry: QueuedEntry = {
        ...request,
        isLogged,
        path: request.path.slice(0, MAX_PATH_LENGTH),
        requestBody: shouldStoreBodies ? redactJson(requestBodyValue) : null,
        responseBody: shouldStoreBodies ? redactJson(responseBodyValue) : null,
      };
      queued.add(partnerId);
      if (hasBody(entry)) queuedBodies.add(partnerId);
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

/** Counts queued entries, in total and per partner. */
class Tally {
  #total = 0;
  readonly #byPartner = new Map<string, number>();

  hasRoom(partnerId: string, max: number): boolean {
    return this.#total < max && (this.#byPartner.get(partnerId) ?? 0) < max * PARTNER_SHARE;
  }

  add(partnerId: string): void {
    this.#total += 1;
    this.#byPartner.set(partnerId, (this.#byPartner.get(partnerId) ?? 0) + 1);
  }

  remove(partnerId: string): void {
    this.#total -= 1;
    const left = (this.#byPartner.get(partnerId) ?? 1) - 1;
    if (left > 0) this.#byPartner.set(partnerId, left);
    else this.#byPartner.delete(partnerId);
  }
}

function hasBody({ requestBody, responseBody }: RequestLogEntry): boolean {
  return requestBody !== null || responseBody !== null;
}
