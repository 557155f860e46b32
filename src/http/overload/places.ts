/** The requests in work: each has a place as long as it is us that it waits for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Response } from "express";
import { contextOf } from "../context.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";

/** `capacity`: as many are in work as can be. `share`: one key has half of their places. */
export type Reason = "capacity" | "share";

interface Place {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly beganMs: number;
  /** The key that came with it, where keys are counted. */
  readonly key: string | null;
  /** It is its client's turn: to send the rest of the body, or to take the answer. */
  isClients: boolean;
  /** How long it took says nothing: its client was part of it. */
  isUntold: boolean;
}

/** A body that has come no further in this time waits for its client. */
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
    taken: { key: string | null; nowMs: number },
  ): void {
    const { key, nowMs } = taken;
    const place: Place = { request, response, beganMs: nowMs, key, isClients: false, isUntold: false };
    const at = this.#free.pop() ?? this.#taken.length;
    this.#taken[at] = place;
    this.#begin(place, nowMs);
    response.once("close", () => {
      this.#taken[at] = null;
      this.#free.push(at);
      this.#end(place);
    });
  }

  /**
   * Whoever sends or reads slowly shall not keep others out: what waits for its client gives its place back, and has one again
   * when it goes on.
   */
  sweep(nowMs: number): void {
    for (const place of this.#taken) {
      if (!place) continue;
      const isClients = place.response.headersSent || !place.request.complete;
      if (isClients === place.isClients || nowMs - place.beganMs < CLIENTS_TURN_AFTER_MS) continue;
      place.isClients = isClients;
      place.isUntold = true;
      if (isClients) this.#leave(place, nowMs);
      else this.#begin(place, nowMs);
    }
  }

  #begin({ key }: Place, nowMs: number): void {
    this.#limit.began(nowMs);
    if (key !== null) this.#byKey.set(key, this.#heldBy(key) + 1);
  }

  #end(place: Place): void {
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

  #heldBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  #leave(place: Place, nowMs: number): void {
    this.#limit.left(nowMs);
    this.#forgetKey(place);
  }

  #forgetKey({ key }: Place): void {
    if (key === null) return;
    const held = this.#heldBy(key) - 1;
    if (held > 0) this.#byKey.set(key, held);
    else this.#byKey.delete(key);
  }
}

/**
 * Those that take about as long: of one route, with answers of about the same length, to the nearest power of two. Null for
 * what failed, which is sooner done, or later.
 */
function kindOf({ request, response }: Place): string | null {
  if (!response.writableFinished || response.statusCode >= 300) return null;
  const length = Math.clz32(Number(response.getHeader("content-length") ?? 0));
  return `${request.method} ${contextOf(response as Response).route} ${length}`;
}
