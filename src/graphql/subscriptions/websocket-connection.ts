/** A WebSocket connection with a send limit. Closing sends the reason to the client and logs it, once. */
import type { IncomingMessage } from "node:http";
import { setMaxListeners } from "node:events";
import type { WebSocket } from "ws";
import type { Logger } from "../../platform/logger.ts";
import { principalLogFields } from "../../platform/principal.ts";
import { createTokenBucket, type TokenBucket } from "../../platform/concurrency/token-bucket.ts";
import type { ConnectionCredential } from "./connection-credentials.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW_REASON } from "./limits.ts";

/** The principal, and the credential to verify it again. */
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

/** A close frame has at most 125 bytes, including 2 bytes for the code. */
const MAX_REASON_BYTES = 123;

export class WebSocketConnection {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly ipAddress: string;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
  authentication: ConnectionAuthentication | null = null;
  /** The code with which the server closed the connection. */
  closeCode: number | null = null;
  readonly #socket: WebSocket;
  readonly #logger: Logger;
  readonly #abortController = new AbortController();
  readonly #messageBudget: TokenBucket;
  #isAlive = true;

  /** Messages not yet handed to the operating system. */
  #unsentMessages = 0;
  /** Checks in a row in which none was handed over. */
  #stalledChecks = 0;

  constructor(socket: WebSocket, { request, requestId, ipAddress, logger }: WebSocketConnectionOptions) {
    this.#socket = socket;
    this.#logger = logger;
    this.request = request;
    this.ipAddress = ipAddress;
    this.requestId = requestId;
    this.#messageBudget = createTokenBucket(subscriptionLimits.messageRate, performance.now());
    // Every running SQL statement adds a listener.
    setMaxListeners(0, this.#abortController.signal);
    socket.on("pong", () => this.#markAlive());
    socket.on("ping", () => this.#markAlive());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.once("close", () => {
      this.#abortController.abort();
      resolve();
    });
    // A close event follows every error.
    socket.on("error", () => undefined);
  }

  /** Aborts when the connection is closing. */
  get signal(): AbortSignal {
    return this.#abortController.signal;
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  /** Resolves when the message is handed to the operating system. Await it to send no faster than the client reads. */
  send(text: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
    if (this.#socket.bufferedAmount > subscriptionLimits.maxUnsentBytes) {
      this.close(closeCodes.tooSlow, TOO_SLOW_REASON);
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#unsentMessages += 1;
    // Errors need no handling: the connection closes, and `signal` aborts pending work.
    this.#socket.send(text, () => {
      this.#unsentMessages -= 1;
      this.#stalledChecks = 0;
      resolve();
    });
    return promise;
  }

  /** Sends `reason` to the client, truncated to 123 bytes, and logs it. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.closeCode = code;
    this.#socket.close(code, truncateReason(reason));
    // Cancel pending work now. The socket stays open until the client answers the close frame or times out.
    this.#abortController.abort();
    this.#log(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Calls `handle` with each text message within the message rate. */
  onMessage(handle: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (!this.#markAlive()) return;
      if (isBinary) this.close(closeCodes.badRequest, "Messages must be text");
      // ws passes a Buffer by default.
      else handle((data as Buffer).toString("utf8"));
    });
  }

  /** Closes the connection after several checks without progress. Counting checks, not time, tolerates pauses of this process. */
  checkBackpressure(): void {
    this.#stalledChecks = this.#unsentMessages === 0 ? 0 : this.#stalledChecks + 1;
    if (this.#stalledChecks > subscriptionLimits.maxStalledChecks)
      this.close(closeCodes.tooSlow, TOO_SLOW_REASON);
  }

  /** Sends a ping. Returns false if the client has not answered the previous one. */
  ping(): boolean {
    if (!this.#isAlive) return false;
    this.#isAlive = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    return true;
  }

  /** Returns false and closes the connection if the client exceeds the message rate. */
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
    if (code === closeCodes.goingAway) this.#logger.debug(fields, "websocket closed");
    else this.#logger.info(fields, "websocket closed");
  }
}

function truncateReason(reason: string): string {
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return reason;
  const cut = Buffer.from(reason)
    .subarray(0, MAX_REASON_BYTES - 3)
    .toString("utf8");
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, "")}...`;
}
