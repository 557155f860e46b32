/** Removes `100 Continue` before a response. A server may send it unasked (RFC 9110, 15.2); undici ends the connection. */
import type { Socket } from "node:net";

const START = Buffer.from("HTTP/1.1 100");
const HEAD_END = "\r\n\r\n";
/** A longer head is left to undici, which rejects it. */
const MAX_HEAD_BYTES = 1_024;
const MAX_INTERIM_RESPONSES = 10;

/** Filters the bytes that arrive on one connection. */
export class ContinueFilter {
  /** Removed responses that may still come before the next final one. */
  #left = 0;
  #held: Buffer | null = null;

  /** Call it before each request. */
  expectResponse(): void {
    this.#left = MAX_INTERIM_RESPONSES;
    this.#held = null;
  }

  /** Must be called before anything is read from `socket`. */
  attach(socket: Socket): void {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    socket.read = (size?: number): Buffer | null => {
      for (let chunk = read(size); chunk !== null; chunk = read(size)) {
        const rest = this.#filter(chunk);
        if (rest !== null) return rest;
      }
      return null;
    };
  }

  /** Returns what follows, or null if nothing has arrived yet. */
  #filter(chunk: Buffer): Buffer | null {
    if (this.#left === 0) return chunk;
    let data = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = null;
    while (this.#left > 0 && startsWithContinue(data)) {
      const end = data.indexOf(HEAD_END);
      if (end === -1 && data.length <= MAX_HEAD_BYTES) {
        this.#held = data;
        return null;
      }
      if (end === -1) break;
      this.#left -= 1;
      data = data.subarray(end + HEAD_END.length);
      if (data.length === 0) return null;
    }
    this.#left = 0;
    return data;
  }
}

/** True for the beginning of a beginning too. */
function startsWithContinue(data: Buffer): boolean {
  const length = Math.min(data.length, START.length);
  return data.subarray(0, length).equals(START.subarray(0, length));
}
