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
  /** Where it stands among all. */
  readonly at: number;
  beganMs: number;
  /** Not while it is its client's turn: to send the rest of the body, or to take the answer. */
  isHeld: boolean;
  /** Answered, or its client is gone. */
  isOver: boolean;
  /** How long it took says nothing: its client was part of it. */
  isUntold: boolean;
}

/** An answer of which a part is still to be sent after this time waits for its client. */
const CLIENTS_TURN_AFTER_MS = 100;
/** Before anybody is refused it is seen to that those who have places need them; but no more often than this. */
const SWEEP_EVERY_MS = 10;

/** Set on each response that has a place. */
const PLACES = Symbol("places");

/** A response, and what counts its request. */
interface Counted {
  [PLACES]?: Places;
}

/** Runs `call`, a request of ours to another server. Meanwhile the request being answered does not count as in flight. */
export function duringExternalCall<Answer>(
  response: ServerResponse & Counted,
  call: () => Promise<Answer>,
): Promise<Answer> {
  return response[PLACES]?.duringExternalCall(response, call) ?? call();
}

export class Places {
  readonly #limit: ConcurrencyLimit;
  /** Not a Set: each table that it grows out of would keep the requests in it from young collections. */
  readonly #taken: (Place | null)[] = [];
  readonly #free: number[] = [];
  readonly #byKey = new Map<string, number>();
  #sweptMs = 0;

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** Why there is none for a request with `key`, where keys are counted. Null: there is one. */
  reasonAgainst(key: string | null, nowMs: number): Reason | null {
    if (!this.#limit.hasRoom && nowMs - this.#sweptMs >= SWEEP_EVERY_MS) this.sweep(nowMs);
    if (!this.#limit.hasRoom) return "capacity";
    return key !== null && this.#heldBy(key) >= this.#limit.limit / 2 ? "share" : null;
  }

  take(
    request: IncomingMessage,
    response: ServerResponse & Counted,
    { key, nowMs }: { key: string | null; nowMs: number },
  ): void {
    const at = this.#free.pop() ?? this.#taken.length;
    const sentBefore = request.socket.bytesWritten;
    // Without a socket it stands behind answers that its client has still to take.
    const isUntold = response.socket === null;
    const state = { beganMs: nowMs, isHeld: true, isOver: false, isUntold };
    const place: Place = { request, response, key, sentBefore, at, ...state };
    this.#taken[at] = place;
    response[PLACES] = this;
    this.#begin(place);
    // Nobody waits for a body that nobody reads.
    if (bringsBody(request)) request.once("resume", () => this.#awaitBody(place));
    response.once("drain", () => {
      place.isUntold = true;
    });
    // What the client takes to take it is no longer our time.
    response.once("prefinish", () => this.#answered(place));
    response.once("close", () => this.#forget(place));
  }

  async duringExternalCall<Answer>(response: ServerResponse, call: () => Promise<Answer>): Promise<Answer> {
    const place = this.#taken.find((taken) => taken?.response === response);
    // Not held where another call of the same request is in flight.
    if (!place?.isHeld) return await call();
    this.#giveBack(place, performance.now());
    try {
      return await call();
    } finally {
      this.#goOn(place);
    }
  }

  /** Whoever takes an answer slowly shall not keep others out. */
  sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const place of this.#taken) {
      if (!place) continue;
      const { request, response, beganMs, isHeld } = place;
      // Answers that stood in line on a connection that was cut are told of nothing.
      if (request.socket.destroyed) this.#forget(place);
      else if (isHeld && isClientsTurn(response, nowMs - beganMs)) this.#giveBack(place, nowMs);
    }
  }

  /**
   * A body that comes with its headers, or right behind them, is there two turns of the loop after somebody begins to read it.
   * Any other waits for its client, and has a place again when it has come.
   */
  #awaitBody(place: Place): void {
    const { request } = place;
    if (request.complete) return;
    setImmediate(() => {
      if (request.complete) return;
      setImmediate(() => {
        if (request.complete || place.isOver) return;
        this.#giveBack(place, performance.now());
        request.once("end", () => this.#goOn(place));
      });
    });
  }

  #goOn(place: Place): void {
    if (place.isOver) return;
    place.beganMs = performance.now();
    place.isHeld = true;
    this.#begin(place);
  }

  #giveBack(place: Place, nowMs: number): void {
    place.isUntold = true;
    this.#leave(place, nowMs);
  }

  #answered(place: Place): void {
    if (place.isOver) return;
    place.isOver = true;
    const nowMs = performance.now();
    const kind = place.isUntold ? null : kindOf(place);
    if (kind === null) {
      this.#leave(place, nowMs);
    } else {
      place.isHeld = false;
      this.#limit.answered(kind, place.beganMs, nowMs);
      this.#forgetKey(place);
    }
  }

  /** It is over, whatever becomes of its answer. */
  #forget(place: Place): void {
    place.isOver = true;
    this.#leave(place, performance.now());
    if (this.#taken[place.at] !== place) return;
    this.#taken[place.at] = null;
    this.#free.push(place.at);
  }

  #begin({ key, beganMs }: Place): void {
    this.#limit.began(beganMs);
    if (key !== null) this.#byKey.set(key, this.#heldBy(key) + 1);
  }

  #leave(place: Place, nowMs: number): void {
    if (!place.isHeld) return;
    place.isHeld = false;
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

/** Its answer is written and stands behind others on its connection, or has long been on its way. */
function isClientsTurn({ writableEnded, headersSent }: ServerResponse, tookMs: number): boolean {
  return writableEnded || (headersSent && tookMs >= CLIENTS_TURN_AFTER_MS);
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
