/** A WebSocket, as graphql-ws uses it: with limits on messages in both directions. Closing logs the reason, once. */
import type { IncomingMessage } from "node:http";
import { setMaxListeners } from "node:events";
import type { WebSocket as ServerSocket } from "graphql-ws";
import type { WebSocket } from "ws";
import { TokenBucket } from "../../../core/concurrency/token-bucket.ts";
import { serializeError, type Logger } from "../../../core/logger.ts";
import { principalLogFields } from "../../../core/principal.ts";
import type { IncomingOperation } from "../context.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";
import { runWithRequest } from "../request-store.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW_REASON } from "./limits.ts";

/** A credential that can be verified again. */
export interface Credential {
  /** Connections with equal keys share one verification: same key and IP address, or same session. */
  readonly groupKey: string;
  /** Throws UnauthorizedException or ForbiddenException if the credential is no longer valid. */
  verify(): Promise<AuthenticatedPrincipal>;
}

interface Authentication {
  readonly credential: Credential;
  readonly principal: AuthenticatedPrincipal;
}

interface ConnectionOptions {
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: IncomingMessage["rawHeaders"];
  readonly requestId: string;
  readonly ipAddress: string;
  readonly logger: Logger;
}

/** A close frame has at most 125 bytes, including 2 bytes for the code. */
const MAX_REASON_BYTES = 123;

// There is no HTTP response to set headers on.
const ignore = (): void => undefined;

export class Connection implements ServerSocket {
  /** Of the upgrade request. */
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: IncomingMessage["rawHeaders"];
  /** Of the upgrade request. It is in every error and log line. */
  readonly requestId: string;
  readonly ipAddress: string;
  readonly closed: Promise<void>;
  /** Null until `connection_init` has been accepted. */
  authentication: Authentication | null = null;
  /** Subscriptions that are starting or active. */
  subscriptionCount = 0;
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

  constructor(socket: WebSocket, { headers, rawHeaders, requestId, ipAddress, logger }: ConnectionOptions) {
    this.#socket = socket;
    this.#logger = logger;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.ipAddress = ipAddress;
    this.requestId = requestId;
    this.#messageBudget = new TokenBucket(subscriptionLimits.messageRate, performance.now());
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
    socket.on("error", ignore);
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
    const { requestId, ipAddress, authentication, signal } = this;
    const principal = authentication?.principal ?? null;
    return { requestId, ipAddress, principal, signal, duringExternalCall: (call) => call() };
  }

  /** Resolves when the message is handed to the operating system. Await it to send no faster than the client reads. */
  send(text: string): Promise<void> {
    if (this.#socket.bufferedAmount > subscriptionLimits.maxUnsentBytes) this.#closeTooSlow();
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
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
  close(code: number = closeCodes.internalError, reason = ""): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.closeCode = code;
    this.#socket.close(code, truncateReason(reason));
    // Cancel pending work now. The socket stays open until the client answers the close frame or times out.
    this.#abortController.abort();
    const principal = this.authentication?.principal;
    const fields = { code, reason, ...(principal && principalLogFields(principal)) };
    const level = code === closeCodes.goingAway ? "debug" : "info";
    this.#logger[level]({ request_id: this.requestId, ...fields }, "websocket closed");
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Calls `handle` with each text message within the message rate, inside the request store. */
  onMessage(handle: (text: string) => Promise<void>): void {
    this.#socket.on("message", (data, isBinary) => {
      if (!this.#markAlive()) return;
      if (isBinary) return this.close(closeCodes.badRequest, "Messages must be text");
      const request = {
        ...this.request,
        transport: "websocket",
        setHeader: ignore,
        setFailure: ignore,
        inShare: <T>(_kind: unknown, work: () => Promise<T>) => work(),
      } as const;
      // ws passes a Buffer by default.
      const text = (data as Buffer).toString("utf8");
      void runWithRequest(request, () => handle(text)).catch((error: unknown) => this.closeOnError(error));
    });
  }

  /** Closes the connection for an error of graphql-ws: a message type that clients must not send, or a bug. */
  closeOnError(error: unknown): void {
    if (error instanceof Error && error.message.startsWith("Unexpected message of type"))
      return this.close(closeCodes.badRequest, "Unexpected message");
    this.#logger.error({ request_id: this.requestId, err: serializeError(error) }, "websocket failed");
    this.close(closeCodes.internalError, "Internal server error");
  }

  /** Closes the connection after several checks without progress. Counting checks, not time, tolerates pauses of this process. */
  checkBackpressure(): void {
    this.#stalledChecks = this.#unsentMessages === 0 ? 0 : this.#stalledChecks + 1;
    if (this.#stalledChecks > subscriptionLimits.maxStalledChecks) this.#closeTooSlow();
  }

  /** Sends a ping, or cuts the connection if the client has not answered the previous one. */
  ping(): void {
    if (!this.#isAlive) this.terminate();
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

function truncateReason(reason: string): string {
  if (Buffer.byteLength(reason) <= MAX_REASON_BYTES) return reason;
  const cut = Buffer.from(reason)
    .subarray(0, MAX_REASON_BYTES - 3)
    .toString("utf8");
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, "")}...`;
}
