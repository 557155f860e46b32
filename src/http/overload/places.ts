/** The requests in work: each has a place as long as it is us that it waits for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import { bringsBody } from "../arrival.ts";
import { contextOf } from "../context.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";

/** `capacity`: as many are in work as can be. `share`: one key has half of their places. */
export type Reason = "capacity" | "share";

interface Place {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The key that came with it, where keys are counted. */
  readonly key: string | null;
  /** What its connection had sent before. */
  readonly sentBefore: number;
  /** From then on all of it was there. */
  beganMs: number;
  /** It is its client's turn: to send the rest of the body, or to take the answer. */
  isClients: boolean;
  /** How long it took says nothing: its client was part of it. */
  isUntold: boolean;
  isAnswered: boolean;
}

/** An answer of which a part is still to be sent after this time waits for its client. */
const CLIENTS_TURN_AFTER_MS = 100;

export class Places {
  readonly #limit: ConcurrencyLimit;
  /** Not a Set: each table that it grows out of would keep the requests in it from young collections. */
  readonly #taken: (Place | null)[] = [];
  readonly #free: number[] = [];
  readonly #byKey = new Map<string, number>();

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** Why there is none for a request with `key`, where keys are counted. Null: there is one. */
  reasonAgainst(key: string | null): Reason | null {
    if (!this.#limit.hasRoom) return "capacity";
    return key !== null && this.#heldBy(key) >= this.#limit.limit / 2 ? "share" : null;
  }

  take(
    request: IncomingMessage,
    response: ServerResponse,
    { key, nowMs }: { key: string | null; nowMs: number },
  ): void {
    const sentBefore = request.socket.bytesWritten;
    const place: Place = {
      request,
      response,
      key,
      sentBefore,
      beganMs: nowMs,
      isClients: false,
      isUntold: false,
      isAnswered: false,
    };
    const at = this.#free.pop() ?? this.#taken.length;
    this.#taken[at] = place;
    this.#begin(place, nowMs);
    if (bringsBody(request)) this.#awaitBody(place);
    response.once("drain", () => {
      place.isUntold = true;
    });
    // What the client takes to take it is no longer our time.
    response.once("prefinish", () => this.#answered(place));
    response.once("close", () => {
      this.#taken[at] = null;
      this.#free.push(at);
      if (!place.isAnswered && !place.isClients) this.#leave(place, performance.now());
    });
  }

  /** Whoever takes an answer slowly while it is written shall not keep others out. */
  sweep(nowMs: number): void {
    for (const place of this.#taken) {
      if (!place || place.isClients || place.isAnswered || !place.response.headersSent) continue;
      if (nowMs - place.beganMs >= CLIENTS_TURN_AFTER_MS) this.#giveBack(place, nowMs);
    }
  }

  /**
   * A body that comes with its headers, or right behind them, is there two turns of the loop later. Any other waits for its
   * client, and has a place again when it has come.
   */
  #awaitBody(place: Place): void {
    setImmediate(() => {
      if (place.request.complete) return;
      setImmediate(() => {
        if (place.request.complete || place.isAnswered || place.response.closed) return;
        this.#giveBack(place, performance.now());
        place.request.once("end", () => this.#goOn(place));
      });
    });
  }

  #giveBack(place: Place, nowMs: number): void {
    place.isClients = true;
    this.#leave(place, nowMs);
  }

  #goOn(place: Place): void {
    if (place.isAnswered || place.response.closed) return;
    place.isClients = false;
    place.beganMs = performance.now();
    this.#begin(place, place.beganMs);
  }

  #answered(place: Place): void {
    place.isAnswered = true;
    if (place.isClients) return;
    const nowMs = performance.now();
    const kind = place.isUntold ? null : kindOf(place);
    if (kind === null) {
      this.#leave(place, nowMs);
    } else {
      this.#limit.answered(kind, place.beganMs, nowMs);
      this.#forgetKey(place);
    }
  }

  #begin({ key }: Place, nowMs: number): void {
    this.#limit.began(nowMs);
    if (key !== null) this.#byKey.set(key, this.#heldBy(key) + 1);
  }

  #leave(place: Place, nowMs: number): void {
    this.#limit.left(nowMs);
    this.#forgetKey(place);
  }

  #heldBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  #forgetKey({ key }: Place): void {
    if (key === null) return;
    const held = this.#heldBy(key) - 1;
    if (held > 0) this.#byKey.set(key, held);
    else this.#byKey.delete(key);
  }
}

/**
 * Those that take about as long: of one route, with answers of about the same length, to the nearest power of two, compressed
 * or not. Null for what failed, which is sooner done, or later.
 */
function kindOf({ request, response, sentBefore }: Place): string | null {
  if (response.statusCode >= 300) return null;
  const length = Math.clz32(request.socket.bytesWritten - sentBefore);
  const encoding = String(response.getHeader("content-encoding") ?? "");
  return `${request.method} ${contextOf(response as Response).route} ${length} ${encoding}`;
}
