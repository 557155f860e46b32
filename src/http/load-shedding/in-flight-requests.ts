/** The requests in work: each has a place as long as it is us that it waits for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import { hasBody } from "../server/request-timeout.ts";
import { contextOf } from "../context.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";

/** `capacity`: as many are in work as can be. `share`: one key has half of their places. */
export type RejectionReason = "capacity" | "share";

interface InFlightRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The key that came with it, where keys are counted. */
  readonly key: string | null;
  /** What its connection had sent before. */
  readonly bytesSentBefore: number;
  /** Where it stands among all. */
  readonly index: number;
  startedMs: number;
  /** Not while it is its client's turn: to send the rest of the body, or to take the answer. */
  isCounted: boolean;
  /** Answered, or its client is gone. */
  isFinished: boolean;
  /** How long it took says nothing: its client was part of it. */
  isExcluded: boolean;
}

/** An answer of which a part is still to be sent after this time waits for its client. */
const CLIENT_WAIT_AFTER_MS = 100;
/** Before anybody is refused it is seen to that those who have places need them; but no more often than this. */
const EVICT_INTERVAL_MS = 10;

/** Set on each response that has a place. */
const IN_FLIGHT = Symbol("places");

/** A response, and what counts its request. */
interface TrackedResponse {
  [IN_FLIGHT]?: InFlightRequests;
}

/** Runs `call`, a request of ours to another server. Meanwhile the request being answered does not count as in flight. */
export function duringExternalCall<Answer>(
  response: ServerResponse & TrackedResponse,
  call: () => Promise<Answer>,
): Promise<Answer> {
  return response[IN_FLIGHT]?.duringExternalCall(response, call) ?? call();
}

export class InFlightRequests {
  readonly #limit: ConcurrencyLimit;
  /** Not a Set: each table that it grows out of would keep the requests in it from young collections. */
  readonly #requests: (InFlightRequest | null)[] = [];
  readonly #freeIndexes: number[] = [];
  readonly #countByKey = new Map<string, number>();
  #evictedMs = 0;

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** Why there is none for a request with `key`, where keys are counted. Null: there is one. */
  rejectionReason(key: string | null, nowMs: number): RejectionReason | null {
    if (!this.#limit.hasCapacity && nowMs - this.#evictedMs >= EVICT_INTERVAL_MS) this.evictIdle(nowMs);
    if (!this.#limit.hasCapacity) return "capacity";
    return key !== null && this.#countOf(key) >= this.#limit.limit / 2 ? "share" : null;
  }

  add(
    request: IncomingMessage,
    response: ServerResponse & TrackedResponse,
    { key, nowMs }: { key: string | null; nowMs: number },
  ): void {
    const index = this.#freeIndexes.pop() ?? this.#requests.length;
    const bytesSentBefore = request.socket.bytesWritten;
    // Without a socket it stands behind answers that its client has still to take.
    const isExcluded = response.socket === null;
    const state = { startedMs: nowMs, isCounted: true, isFinished: false, isExcluded: isExcluded };
    const inFlight: InFlightRequest = { request, response, key, bytesSentBefore, index, ...state };
    this.#requests[index] = inFlight;
    response[IN_FLIGHT] = this;
    this.#count(inFlight);
    // Nobody waits for a body that nobody reads.
    if (hasBody(request)) request.once("resume", () => this.#awaitBody(inFlight));
    response.once("drain", () => {
      inFlight.isExcluded = true;
    });
    // What the client takes to take it is no longer our time.
    response.once("prefinish", () => this.#finish(inFlight));
    response.once("close", () => this.#remove(inFlight));
  }

  async duringExternalCall<Answer>(response: ServerResponse, call: () => Promise<Answer>): Promise<Answer> {
    const inFlight = this.#requests.find((taken) => taken?.response === response);
    // Not held where another call of the same request is in flight.
    if (!inFlight?.isCounted) return await call();
    this.#release(inFlight, performance.now());
    try {
      return await call();
    } finally {
      this.#resume(inFlight);
    }
  }

  /** Whoever takes an answer slowly shall not keep others out. */
  evictIdle(nowMs: number): void {
    this.#evictedMs = nowMs;
    for (const inFlight of this.#requests) {
      if (!inFlight) continue;
      const { request, response, startedMs, isCounted } = inFlight;
      // Answers that stood in line on a connection that was cut are told of nothing.
      if (request.socket.destroyed) this.#remove(inFlight);
      else if (isCounted && isWaitingForClient(response, nowMs - startedMs)) this.#release(inFlight, nowMs);
    }
  }

  /**
   * A body that comes with its headers, or right behind them, is there two turns of the loop after somebody begins to read it.
   * Any other waits for its client, and has a place again when it has come.
   */
  #awaitBody(place: InFlightRequest): void {
    const { request } = place;
    if (request.complete) return;
    setImmediate(() => {
      if (request.complete) return;
      setImmediate(() => {
        if (request.complete || place.isFinished) return;
        this.#release(place, performance.now());
        request.once("end", () => this.#resume(place));
      });
    });
  }

  #resume(place: InFlightRequest): void {
    if (place.isFinished) return;
    place.startedMs = performance.now();
    place.isCounted = true;
    this.#count(place);
  }

  #release(place: InFlightRequest, nowMs: number): void {
    place.isExcluded = true;
    this.#uncount(place, nowMs);
  }

  #finish(place: InFlightRequest): void {
    if (place.isFinished) return;
    place.isFinished = true;
    const nowMs = performance.now();
    const kind = place.isExcluded ? null : requestKind(place);
    if (kind === null) {
      this.#uncount(place, nowMs);
    } else {
      place.isCounted = false;
      this.#limit.onSuccess(kind, place.startedMs, nowMs);
      this.#decrementKey(place);
    }
  }

  /** It is over, whatever becomes of its answer. */
  #remove(place: InFlightRequest): void {
    place.isFinished = true;
    this.#uncount(place, performance.now());
    if (this.#requests[place.index] !== place) return;
    this.#requests[place.index] = null;
    this.#freeIndexes.push(place.index);
  }

  #count({ key, startedMs }: InFlightRequest): void {
    this.#limit.onStart(startedMs);
    if (key !== null) this.#countByKey.set(key, this.#countOf(key) + 1);
  }

  #uncount(place: InFlightRequest, nowMs: number): void {
    if (!place.isCounted) return;
    place.isCounted = false;
    this.#limit.onRelease(nowMs);
    this.#decrementKey(place);
  }

  #countOf(key: string): number {
    return this.#countByKey.get(key) ?? 0;
  }

  #decrementKey({ key }: InFlightRequest): void {
    if (key === null) return;
    const held = this.#countOf(key) - 1;
    if (held > 0) this.#countByKey.set(key, held);
    else this.#countByKey.delete(key);
  }
}

/** Its answer is written and stands behind others on its connection, or has long been on its way. */
function isWaitingForClient({ writableEnded, headersSent }: ServerResponse, tookMs: number): boolean {
  return writableEnded || (headersSent && tookMs >= CLIENT_WAIT_AFTER_MS);
}

/**
 * Those that take about as long: of one route, with answers of about the same length, to the nearest power of two, compressed
 * or not. Null for what failed, which is sooner done, or later.
 */
function requestKind({ request, response, bytesSentBefore }: InFlightRequest): string | null {
  if (response.statusCode >= 300) return null;
  const length = Math.clz32(request.socket.bytesWritten - bytesSentBefore);
  const encoding = String(response.getHeader("content-encoding") ?? "");
  return `${request.method} ${contextOf(response as Response).route} ${length} ${encoding}`;
}
