/** One WebSocket: what is sent on it is bounded, and whatever ends it is told to the client and written down, once. */
import type { IncomingMessage } from "node:http";
import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import type { Logger } from "../../platform/logger.ts";
import { principalLogFields } from "../../platform/principal.ts";
import { createTokenBucket, type TokenBucket } from "../../platform/concurrency/token-bucket.ts";
import type { ConnectionCredential } from "./connection-credentials.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW_REASON } from "./limits.ts";

/** Who holds it, and what they are verified by again and again. */
export interface ConnectionAuthentication {
  readonly credential: ConnectionCredential;
  readonly principal: AuthenticatedPrincipal;
}

interface WebSocketConnectionOptions {
  request: IncomingMessage;
  requestId: string;
  ipAddress: string;
  logger: Logger;
}

/** A close frame holds 125 bytes, two of them the code. */
const MAX_REASON_BYTES = 123;

export class WebSocketConnection {
  readonly requestId: string;
  readonly request: IncomingMessage;
  /** The client's. */
  readonly ipAddress: string;
  /** Resolves once it is closed. */
  readonly closed: Promise<void>;
  authentication: ConnectionAuthentication | null = null;
  /** The code with which it was closed from here. */
  closeCode: number | null = null;
  readonly #socket: WebSocket;
  readonly #logger: Logger;
  readonly #abortController = new AbortController();
  readonly #messageBudget: TokenBucket;
  #isAlive = true;

  /** Messages that the operating system has not taken yet. */
  #unsentMessages = 0;
  /** How many times in a row it was found to have taken none. */
  #maxStalledChecks = 0;

  constructor(socket: WebSocket, { request, requestId, ipAddress, logger }: WebSocketConnectionOptions) {
    this.#socket = socket;
    this.#logger = logger;
    this.request = request;
    this.ipAddress = ipAddress;
    this.requestId = requestId;
    this.#messageBudget = createTokenBucket(subscriptionLimits.messages, performance.now());
    // Each statement that runs for it listens.
    setMaxListeners(0, this.#abortController.signal);
    socket.on("pong", () => this.#markAlive());
    socket.on("ping", () => this.#markAlive());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.once("close", () => {
      this.#abortController.abort();
      resolve();
    });
    // What it means is told by the close that follows.
    socket.on("error", () => undefined);
  }

  /** Aborts when it is closed. */
  get signal(): AbortSignal {
    return this.#abortController.signal;
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  /** Resolves once it is handed to the operating system, so that whoever waits sends no faster than the client reads. */
  send(text: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
    if (this.#socket.bufferedAmount > subscriptionLimits.maxUnsentBytes) {
      this.close(closeCodes.tooSlow, TOO_SLOW_REASON);
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsentMessages += 1;
    // A failure means that the socket ends, and with it whatever waits.
    this.#socket.send(text, () => {
      this.#unsentMessages -= 1;
      this.#maxStalledChecks = 0;
      resolve();
    });
    return promise;
  }

  /** `reason` is for the client. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.closeCode = code;
    this.#socket.close(code, truncateReason(reason));
    // Nothing that it still waits for is of use; the socket itself is open until the client has answered, or is late.
    this.#abortController.abort();
    this.#log(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** `take` is given each message that the client may send; it never rejects. */
  onMessage(take: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (!this.#markAlive()) return;
      if (isBinary) this.close(closeCodes.badRequest, "Messages are text");
      // The library gives a Buffer, being asked for nothing else.
      else take((data as Buffer).toString("utf8"));
    });
  }

  /**
   * A client that takes nothing of what waits for it is not waited for. It is the times that count, not the time: where
   * this process itself was held up, that is nobody's fault.
   */
  checkBackpressure(): void {
    this.#maxStalledChecks = this.#unsentMessages === 0 ? 0 : this.#maxStalledChecks + 1;
    if (this.#maxStalledChecks > subscriptionLimits.maxStalledChecks)
      this.close(closeCodes.tooSlow, TOO_SLOW_REASON);
  }

  /** Asks whether the client is still there; false: it has not answered the last time. */
  ping(): boolean {
    if (!this.#isAlive) return false;
    this.#isAlive = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    return true;
  }

  /** False: the client talks too much. */
  #markAlive(): boolean {
    this.#isAlive = true;
    if (this.#messageBudget.take(performance.now())) return true;
    this.close(closeCodes.policyViolation, "Too many messages");
    return false;
  }

  #log(code: number, reason: string): void {
    const principal = this.authentication?.principal;
    const fields = {
      request_id: this.requestId,
      code,
      reason,
      ...(principal && principalLogFields(principal)),
    };
    if (code === closeCodes.goingAway) this.#logger.debug(fields, "a websocket was closed");
    else this.#logger.info(fields, "a websocket was closed");
  }
}

function truncateReason(reason: string): string {
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return reason;
  const cut = Buffer.from(reason)
    .subarray(0, MAX_REASON_BYTES - 3)
    .toString("utf8");
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, "")}...`;
}
