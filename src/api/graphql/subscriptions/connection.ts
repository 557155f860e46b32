/** A WebSocket, as graphql-ws uses it: with limits on messages in both directions. Closing logs the reason, once. */
import type { IncomingMessage } from "node:http";
import { setMaxListeners } from "node:events";
import type { WebSocket as ServerSocket } from "graphql-ws";
import type { WebSocket } from "ws";
import { TokenBucket } from "../../../core/concurrency/token-bucket.ts";
import { serializeError, type Logger } from "../../../core/logger.ts";
import { principalLogFields } from "../../../core/principal.ts";
import { type IncomingOperation, runWithRequest } from "../context.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW_REASON } from "./limits.ts";

/** A credential that can be verified again. */
export interface Credential {
  /** Connections with equal keys share one verification: same key and IP address, or same session. */
  readonly groupKey: string;
  /** Throws UnauthorizedException or ForbiddenException if the credential is no longer valid. */
  verify(): Promise<AuthenticatedPrincipal>;
}

interface ConnectionOptions {
  readonly upgradeRequest: Pick<IncomingMessage, "headers" | "rawHeaders">;
  /** Of the upgrade request. It is in every error and log line. */
  readonly requestId: string;
  readonly ipAddress: string;
  readonly logger: Logger;
}

/** A close frame has at most 125 bytes, including 2 bytes for the code. */
const MAX_REASON_BYTES = 123;

export class Connection implements ServerSocket {
  readonly options: ConnectionOptions;
  readonly closed: Promise<void>;
  /** Both are null until `connection_init` has been accepted. */
  credential: Credential | null = null;
  principal: AuthenticatedPrincipal | null = null;
  /** Subscriptions that read the database before they are active, also if the client has completed them meanwhile. */
  starting = 0;
  /** Active subscriptions, also those that graphql-ws has forgotten, because their ID was used again while they started. */
  active = 0;
  /** The code with which the server closed the connection. */
  closeCode: number | null = null;
  readonly #socket: WebSocket;
  readonly #abortController = new AbortController();
  readonly #messageBudget = new TokenBucket(subscriptionLimits.messageRate, performance.now());
  #isAlive = true;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.options = options;
    // Every running SQL statement adds a listener.
    setMaxListeners(0, this.signal);
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

  /** The request data of an operation on this connection. */
  get request(): IncomingOperation {
    const { requestId, ipAddress } = this.options;
    return { requestId, ipAddress, principal: this.principal, signal: this.signal };
  }

  /** Resolves when the message is handed to the operating system. Await it to send no faster than the client reads. */
  send(text: string): Promise<void> {
    if (this.#socket.bufferedAmount > subscriptionLimits.maxUnsentBytes) this.#closeTooSlow();
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timeout = setTimeout(() => this.#closeTooSlow(), subscriptionLimits.sendTimeoutMs);
    // Errors need no handling: the connection closes, and `signal` aborts pending work.
    this.#socket.send(text, () => {
      clearTimeout(timeout);
      resolve();
    });
    return promise;
  }

  /** Sends `reason` to the client, truncated to 123 bytes, and logs it. */
  close(code: number = closeCodes.internalError, reason = ""): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.closeCode = code;
    const bytes = Buffer.alloc(MAX_REASON_BYTES);
    // `write` splits no character.
    this.#socket.close(code, bytes.subarray(0, bytes.write(reason)));
    // Cancel pending work now. The socket stays open until the client answers the close frame or times out.
    this.#abortController.abort();
    const { logger, requestId } = this.options;
    const fields = { code, reason, ...(this.principal && principalLogFields(this.principal)) };
    const level = code === closeCodes.goingAway ? "debug" : "info";
    logger[level]({ request_id: requestId, ...fields }, "websocket closed");
  }

  /** Calls `handle` with each message within the message rate, inside the request store. */
  onMessage(handle: (text: string) => Promise<void>): void {
    this.#socket.on("message", (data) => {
      if (!this.#markAlive()) return;
      // ws passes a Buffer by default.
      const text = (data as Buffer).toString("utf8");
      const handled = runWithRequest({ ...this.request, response: null }, () => handle(text));
      void handled.catch((error: unknown) => this.closeOnError(error));
    });
  }

  /** Closes the connection for an error of graphql-ws: a message type that clients must not send, or a bug. */
  closeOnError(error: unknown): void {
    if (error instanceof Error && error.message.startsWith("Unexpected message of type"))
      return this.close(closeCodes.badRequest, "Unexpected message");
    const { logger, requestId } = this.options;
    logger.error({ request_id: requestId, err: serializeError(error) }, "websocket failed");
    this.close(closeCodes.internalError, "Internal server error");
  }

  /** Sends a ping, or cuts the connection if the client has not answered the previous one. */
  ping(): void {
    if (!this.#isAlive) this.#socket.terminate();
    this.#isAlive = false;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Returns false and closes the connection if the client exceeds the message rate. */
  #markAlive(): boolean {
    this.#isAlive = true;
    if (this.#messageBudget.take(performance.now())) return true;
    this.close(closeCodes.policyViolation, "Too many messages");
    return false;
  }

  #closeTooSlow(): void {
    this.close(closeCodes.tooSlow, TOO_SLOW_REASON);
  }
}
