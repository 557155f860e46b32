/** One WebSocket: what is sent on it is bounded, and whatever ends it is told to the client and written down, once. */
import type { IncomingMessage } from "node:http";
import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import type { Logger } from "../platform/logger.ts";
import { namesForLog } from "../platform/principal.ts";
import { createTokenBucket, type TokenBucket } from "../platform/token-bucket.ts";
import type { Credential } from "./credential.ts";
import type { Holder } from "./holder.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW } from "./subscription-limits.ts";

/** Who holds it, and what they are verified by again and again. */
export interface Caller {
  readonly credential: Credential;
  readonly holder: Holder;
}

interface SocketParts {
  request: IncomingMessage;
  requestId: string;
  address: string;
  logger: Logger;
}

/** A close frame holds 125 bytes, two of them the code. */
const REASON_BYTES = 123;

export class LiveSocket {
  readonly requestId: string;
  readonly request: IncomingMessage;
  /** The client's. */
  readonly address: string;
  /** Resolves once it is closed. */
  readonly ended: Promise<void>;
  caller: Caller | null = null;
  /** The code with which it was closed from here. */
  closedWith: number | null = null;
  readonly #socket: WebSocket;
  readonly #logger: Logger;
  readonly #gone = new AbortController();
  readonly #messages: TokenBucket;
  #isAlive = true;

  /** Messages that the operating system has not taken yet. */
  #unsent = 0;
  /** How many times in a row it was found to have taken none. */
  #stalled = 0;

  constructor(socket: WebSocket, { request, requestId, address, logger }: SocketParts) {
    this.#socket = socket;
    this.#logger = logger;
    this.request = request;
    this.address = address;
    this.requestId = requestId;
    this.#messages = createTokenBucket(subscriptionLimits.messages, performance.now());
    // Each statement that runs for it listens.
    setMaxListeners(0, this.#gone.signal);
    socket.on("pong", () => this.#hear());
    socket.on("ping", () => this.#hear());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    socket.once("close", () => {
      this.#gone.abort();
      resolve();
    });
    // What it means is told by the close that follows.
    socket.on("error", () => undefined);
  }

  /** Aborts when it is closed. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  /** Resolves once it is handed to the operating system, so that whoever waits sends no faster than the client reads. */
  send(text: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
    if (this.#socket.bufferedAmount > subscriptionLimits.unsentBytes) {
      this.close(closeCodes.tooSlow, TOO_SLOW);
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsent += 1;
    // A failure means that the socket ends, and with it whatever waits.
    this.#socket.send(text, () => {
      this.#unsent -= 1;
      this.#stalled = 0;
      resolve();
    });
    return promise;
  }

  /** `reason` is for the client. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.closedWith = code;
    this.#socket.close(code, shortened(reason));
    // Nothing that it still waits for is of use; the socket itself is open until the client has answered, or is late.
    this.#gone.abort();
    this.#log(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** `take` is given each message that the client may send; it never rejects. */
  onMessage(take: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (!this.#hear()) return;
      if (isBinary) this.close(closeCodes.badRequest, "Messages are text");
      // The library gives a Buffer, being asked for nothing else.
      else take((data as Buffer).toString("utf8"));
    });
  }

  /**
   * A client that takes nothing of what waits for it is not waited for. It is the times that count, not the time: where
   * this process itself was held up, that is nobody's fault.
   */
  checkStall(): void {
    this.#stalled = this.#unsent === 0 ? 0 : this.#stalled + 1;
    if (this.#stalled > subscriptionLimits.stalledChecks) this.close(closeCodes.tooSlow, TOO_SLOW);
  }

  /** Asks whether the client is still there; false: it has not answered the last time. */
  ask(): boolean {
    if (!this.#isAlive) return false;
    this.#isAlive = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    return true;
  }

  /** False: the client talks too much. */
  #hear(): boolean {
    this.#isAlive = true;
    if (this.#messages.take(performance.now())) return true;
    this.close(closeCodes.policyViolation, "Too many messages");
    return false;
  }

  #log(code: number, reason: string): void {
    const holder = this.caller?.holder;
    const fields = {
      request_id: this.requestId,
      code,
      reason,
      ...(holder && namesForLog(holder)),
    };
    if (code === closeCodes.goingAway) this.#logger.debug(fields, "a websocket was closed");
    else this.#logger.info(fields, "a websocket was closed");
  }
}

function shortened(reason: string): string {
  if (Buffer.byteLength(reason) <= REASON_BYTES) return reason;
  const cut = Buffer.from(reason)
    .subarray(0, REASON_BYTES - 3)
    .toString("utf8");
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, "")}...`;
}
