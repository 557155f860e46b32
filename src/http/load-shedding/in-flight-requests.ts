/** The requests in flight. A request counts while it waits for the server, and not while it waits for its client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import { hasBody } from "../server/request-timeout.ts";
import { contextOf } from "../context.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";

/** `capacity`: the concurrency limit is reached. `per_key`: one key uses half of it. */
export type RejectionReason = "capacity" | "per_key";

interface InFlightRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The credential of the request; null if keys are not counted. */
  readonly key: string | null;
  /** Bytes sent on the connection before this response. */
  readonly bytesSentBefore: number;
  /** Index in `#requests`. */
  readonly index: number;
  startedMs: number;
  /** False while the client has to send the rest of the body or to read the response. */
  isCounted: boolean;
  /** Answered, or the client disconnected. */
  isFinished: boolean;
  /** Not a latency sample, because it waited for its client. */
  isExcluded: boolean;
}

/** A response that is still being sent after this time waits for its client. */
const CLIENT_WAIT_AFTER_MS = 100;
/** Minimum time between two searches for requests that wait for their clients. */
const EVICT_INTERVAL_MS = 10;

/** Property of each tracked response. */
const IN_FLIGHT = Symbol("in-flight");

interface TrackedResponse {
  [IN_FLIGHT]?: InFlightRequests;
}

/** Runs `call`, a request to another server. The request of `response` does not count as in flight meanwhile. */
export function duringExternalCall<Result>(
  response: ServerResponse & TrackedResponse,
  call: () => Promise<Result>,
): Promise<Result> {
  return response[IN_FLIGHT]?.duringExternalCall(response, call) ?? call();
}

export class InFlightRequests {
  readonly #limit: ConcurrencyLimit;
  /** Not a Set: tables discarded by a growing Set would keep their requests alive in minor garbage collections. */
  readonly #requests: (InFlightRequest | null)[] = [];
  readonly #freeIndexes: number[] = [];
  readonly #countByKey = new Map<string, number>();
  #evictedMs = 0;

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** Returns why to reject a request with `key`, or null to accept it. `key` is null if keys are not counted. */
  rejectionReason(key: string | null, nowMs: number): RejectionReason | null {
    if (!this.#limit.hasCapacity && nowMs - this.#evictedMs >= EVICT_INTERVAL_MS) this.evictIdle(nowMs);
    if (!this.#limit.hasCapacity) return "capacity";
    return key !== null && this.#countOf(key) >= this.#limit.limit / 2 ? "per_key" : null;
  }

  add(
    request: IncomingMessage,
    response: ServerResponse & TrackedResponse,
    { key, nowMs }: { key: string | null; nowMs: number },
  ): void {
    const index = this.#freeIndexes.pop() ?? this.#requests.length;
    const bytesSentBefore = request.socket.bytesWritten;
    // Without a socket, the response is queued behind others that the client has not read yet.
    const isExcluded = response.socket === null;
    const state = { startedMs: nowMs, isCounted: true, isFinished: false, isExcluded };
    const inFlight: InFlightRequest = { request, response, key, bytesSentBefore, index, ...state };
    this.#requests[index] = inFlight;
    response[IN_FLIGHT] = this;
    this.#count(inFlight);
    // Some handlers never read the body.
    if (hasBody(request)) request.once("resume", () => this.#awaitBody(inFlight));
    response.once("drain", () => {
      inFlight.isExcluded = true;
    });
    // The time that the client takes to read the response does not count.
    response.once("prefinish", () => this.#finish(inFlight));
    response.once("close", () => this.#remove(inFlight));
  }

  async duringExternalCall<Result>(response: ServerResponse, call: () => Promise<Result>): Promise<Result> {
    const inFlight = this.#requests.find((each) => each?.response === response);
    // Another external call of the same request is already in flight.
    if (!inFlight?.isCounted) return await call();
    this.#release(inFlight, performance.now());
    try {
      return await call();
    } finally {
      this.#resume(inFlight);
    }
  }

  /** Stops counting requests that wait for slow clients. */
  evictIdle(nowMs: number): void {
    this.#evictedMs = nowMs;
    for (const inFlight of this.#requests) {
      if (!inFlight) continue;
      const { request, response, startedMs, isCounted } = inFlight;
      // Responses queued on a destroyed connection emit no event.
      if (request.socket.destroyed) this.#remove(inFlight);
      else if (isCounted && isWaitingForClient(response, nowMs - startedMs)) this.#release(inFlight, nowMs);
    }
  }

  /**
   * A body sent together with its headers has arrived two event loop turns after the handler starts to read it. For any
   * other body, the request waits for its client and counts again once the body has arrived.
   */
  #awaitBody(inFlight: InFlightRequest): void {
    const { request } = inFlight;
    if (request.complete) return;
    setImmediate(() => {
      if (request.complete) return;
      setImmediate(() => {
        if (request.complete || inFlight.isFinished) return;
        this.#release(inFlight, performance.now());
        request.once("end", () => this.#resume(inFlight));
      });
    });
  }

  #resume(inFlight: InFlightRequest): void {
    if (inFlight.isFinished) return;
    inFlight.startedMs = performance.now();
    inFlight.isCounted = true;
    this.#count(inFlight);
  }

  #release(inFlight: InFlightRequest, nowMs: number): void {
    inFlight.isExcluded = true;
    this.#uncount(inFlight, nowMs);
  }

  #finish(inFlight: InFlightRequest): void {
    if (inFlight.isFinished) return;
    inFlight.isFinished = true;
    const nowMs = performance.now();
    const kind = inFlight.isExcluded ? null : requestKind(inFlight);
    if (kind === null) {
      this.#uncount(inFlight, nowMs);
    } else {
      inFlight.isCounted = false;
      this.#limit.onSuccess(kind, inFlight.startedMs, nowMs);
      this.#decrementKey(inFlight);
    }
  }

  /** The response was sent, or its connection is closed. */
  #remove(inFlight: InFlightRequest): void {
    inFlight.isFinished = true;
    this.#uncount(inFlight, performance.now());
    if (this.#requests[inFlight.index] !== inFlight) return;
    this.#requests[inFlight.index] = null;
    this.#freeIndexes.push(inFlight.index);
  }

  #count({ key, startedMs }: InFlightRequest): void {
    this.#limit.onStart(startedMs);
    if (key !== null) this.#countByKey.set(key, this.#countOf(key) + 1);
  }

  #uncount(inFlight: InFlightRequest, nowMs: number): void {
    if (!inFlight.isCounted) return;
    inFlight.isCounted = false;
    this.#limit.onRelease(nowMs);
    this.#decrementKey(inFlight);
  }

  #countOf(key: string): number {
    return this.#countByKey.get(key) ?? 0;
  }

  #decrementKey({ key }: InFlightRequest): void {
    if (key === null) return;
    const remaining = this.#countOf(key) - 1;
    if (remaining > 0) this.#countByKey.set(key, remaining);
    else this.#countByKey.delete(key);
  }
}

/** True if the response is queued behind others of its connection, or has been sending for long. */
function isWaitingForClient({ writableEnded, headersSent }: ServerResponse, durationMs: number): boolean {
  return writableEnded || (headersSent && durationMs >= CLIENT_WAIT_AFTER_MS);
}

/**
 * Returns a key for requests of similar duration: same route, response length (to a power of two) and encoding. Null for
 * failed requests, whose duration is not comparable.
 */
function requestKind({ request, response, bytesSentBefore }: InFlightRequest): string | null {
  if (response.statusCode >= 300) return null;
  const length = Math.clz32(request.socket.bytesWritten - bytesSentBefore);
  const encoding = String(response.getHeader("content-encoding") ?? "");
  return `${request.method} ${contextOf(response as Response).route} ${length} ${encoding}`;
}
