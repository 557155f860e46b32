/**
 * The log of organisations' API requests, kept for RETENTION_DAYS. It buffers finished requests in memory and writes them in
 * batches, so that no request waits for it. If PostgreSQL is unavailable or too slow and the buffer is full, new entries are
 * dropped and counted.
 */
import { Counter, type Registry } from "prom-client";
import { singleFlight } from "../core/concurrency/single-flight.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";
import { TokenBucket } from "../core/concurrency/token-bucket.ts";
import { AppError, invalidArgument, isUnavailable } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { ensureDailyPartitions, purgeExpiredRequests } from "./partitions.sql.ts";
import { listRequestLog, listUsage, type RequestLogListOptions, type RequestLogReader } from "./read.sql.ts";
import { redactJson, redactNames } from "./redaction.ts";
import { insertRequestLogEntries, type RequestLogEntry } from "./write.sql.ts";

/** A finished request, before redaction. */
export interface FinishedRequest extends Omit<RequestLogEntry, "requestBody" | "responseBody" | "isLogged"> {
  /** The UUID of the organisation's partner. */
  readonly partnerId: string;
  /** The parsed JSON body, or undefined. */
  readonly requestBodyValue: unknown;
  /** The response body of a failed request. */
  readonly responseBodyValue: unknown;
}

interface RequestLogDeps {
  database: Queryable;
  logger: Logger;
  registry: Registry;
  retentionDays: number;
}

const FLUSH_INTERVAL_MS = 1_000;
const BATCH_SIZE = 1_000;
const STOP_TIMEOUT_MS = 5_000;
const MAX_PATH_LENGTH = 1_000;
const MAX_USAGE_DAYS = 30;
/** Of the buffer, about 20 MB. One partner may use half of it, so that it can't displace the entries of others. */
const MAX_ENTRIES = 20_000;
/**
 * The failed requests of one partner that are logged in full, so that they don't fill the database. Further ones have no bodies,
 * and those with 429, which no rate limit bounds, are only counted.
 */
const FAILURE_RATE = { perSecond: 1, burst: 1_000 };

interface Partner {
  readonly failures: TokenBucket;
  buffered: number;
}

/** Creates missing partitions first, so that entries can be written. */
export async function openRequestLog(deps: RequestLogDeps): Promise<RequestLog> {
  await ensureDailyPartitions(deps.database);
  return new RequestLog(deps);
}

export class RequestLog implements AsyncDisposable {
  readonly #deps: RequestLogDeps;
  readonly #dropped: Counter;
  readonly #timer: NodeJS.Timeout;
  readonly #partners = new Map<string, Partner>();
  readonly #buffer: (RequestLogEntry & { partner: Partner })[] = [];

  constructor(deps: RequestLogDeps) {
    this.#deps = deps;
    this.#dropped = new Counter({
      name: "waymark_request_log_entries_dropped_total",
      help: "Request log entries dropped because PostgreSQL was unavailable or too slow",
      registers: [deps.registry],
    });
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Cheap, and never throws. */
  record({ partnerId, requestBodyValue, responseBodyValue, ...request }: FinishedRequest): void {
    const partner = this.#partnerOf(partnerId);
    if (this.#buffer.length >= MAX_ENTRIES || partner.buffered >= MAX_ENTRIES / 2) {
      this.#dropped.inc();
      return;
    }
    const isInFull = request.status >= 400 && partner.failures.take(performance.now());
    partner.buffered += 1;
    this.#buffer.push({
      ...request,
      partner,
      path: request.path.slice(0, MAX_PATH_LENGTH),
      ignoredParameters: redactNames(request.ignoredParameters),
      isLogged: isInFull || request.status !== 429,
      requestBody: isInFull ? redactJson(requestBodyValue) : null,
      responseBody: isInFull ? redactJson(responseBodyValue) : null,
    });
    if (this.#buffer.length % BATCH_SIZE === 0) void this.flush();
  }

  /** Writes buffered entries. Resolves when they are written or PostgreSQL is unavailable. */
  readonly flush = singleFlight(() => this.#write());

  /** Newest first. Throws BadRequestException for operators without a request ID: they may only look up single requests. */
  async list(reader: RequestLogReader, request: RequestLogListOptions, on: Queryable = this.#deps.database) {
    if (reader.organizationId === null && request.filter.requestId === undefined)
      throw invalidArgument("requestId", "is required for operators, who can only look up single requests");
    return await listRequestLog(on, reader, request);
  }

  /** Throws NotFoundException if there is no such request, or it is not in the log yet or no longer. `requestId`: typed. */
  async get(reader: RequestLogReader, requestId: string) {
    const { items } = await this.list(reader, { filter: { requestId }, limit: 1, after: null });
    if (items[0]) return items[0];
    const message = `There is no such request in the log. Requests appear within seconds and are kept for ${this.#deps.retentionDays} days`;
    throw new AppError("NotFoundException", message);
  }

  /** Returns usage by day and key, oldest first. `days`: including today. Throws ForbiddenException for operators. */
  async usage({ organizationId }: RequestLogReader, days: number, on: Queryable = this.#deps.database) {
    if (organizationId === null)
      throw new AppError("ForbiddenException", "Only organisations can do this, not operators");
    if (days < 1 || days > MAX_USAGE_DAYS)
      throw invalidArgument("days", `must be from 1 to ${MAX_USAGE_DAYS}`);
    return await listUsage(on, organizationId, days);
  }

  /** Drops partitions past the retention time. Returns the dropped tables' names. */
  async purgeExpired(): Promise<string[]> {
    const { database, retentionDays } = this.#deps;
    return await purgeExpiredRequests(database, retentionDays);
  }

  /** Writes buffered entries, for at most 5 seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // A flush already in progress may have missed the latest entries, so flush twice.
    await withTimeout(this.flush().then(this.flush), STOP_TIMEOUT_MS);
    this.#dropped.inc(this.#buffer.length);
  }

  #partnerOf(id: string): Partner {
    const known = this.#partners.get(id);
    if (known) return known;
    const partner = { failures: new TokenBucket(FAILURE_RATE, performance.now()), buffered: 0 };
    this.#partners.set(id, partner);
    return partner;
  }

  async #write(): Promise<void> {
    const { database, logger } = this.#deps;
    while (this.#buffer.length > 0) {
      const batch = this.#buffer.slice(0, BATCH_SIZE);
      try {
        await insertRequestLogEntries(database, batch);
      } catch (error) {
        // Unavailable or overloaded: keep the batch and try again later.
        if (isUnavailable(error)) return;
        // PostgreSQL would reject this batch again: drop it instead of retrying.
        logger.error({ error: (error as Error).message }, "request log entries were rejected and dropped");
        this.#dropped.inc(batch.length);
      }
      this.#buffer.splice(0, batch.length);
      for (const { partner } of batch) partner.buffered -= 1;
    }
  }
}
