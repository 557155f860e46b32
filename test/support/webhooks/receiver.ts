/**
 * A webhook receiver. Also a program: `node test/support/webhooks/receiver.ts [secret] [status]` prints its URL and each
 * request as lines of JSON.
 */
import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { isSigned } from "./is-signed.ts";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  atMs: number;
  /** Number of the TCP connection, from 1. */
  connection: number;
  /** Whether the receiver's secret has signed it; null if it has none. */
  isSigned: boolean | null;
}

export interface ReceiverReply {
  status?: number;
  headers?: OutgoingHttpHeaders;
  body?: string | Uint8Array;
}

/** Returns a reply, or undefined if it writes to `response` itself or never responds. */
export type ReceiverResponder = (
  received: ReceivedRequest,
  response: ServerResponse,
) => ReceiverReply | undefined | Promise<ReceiverReply | undefined>;

export interface TestReceiverOptions {
  /** Default: 200 without a body. */
  respond?: ReceiverResponder;
  /** The secret to verify signatures with. */
  secret?: string;
  tls?: { cert: string; key: string };
  port?: number;
  /** Called for each complete request. */
  onReceived?: (received: ReceivedRequest) => void;
}

export interface TestReceiver extends AsyncDisposable {
  /** `http://127.0.0.1:PORT/webhooks`, or https. */
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedRequest[];
  /** Connections opened in total, and currently open. */
  readonly connections: { opened: number; open: number };
  /** Tests can replace it at any time. */
  respond: ReceiverResponder;
  /** Resolves with the next request that `next()` has not returned yet. */
  next(): Promise<ReceivedRequest>;
  /** Resolves when `count` requests have been received in total. */
  waitFor(count: number): Promise<ReceivedRequest[]>;
  /** Closes every connection, like a killed process. */
  dropConnections(): void;
}

export async function startTestReceiver(options: TestReceiverOptions = {}): Promise<TestReceiver> {
  const { secret, tls, port = 0, onReceived } = options;
  const received: ReceivedRequest[] = [];
  const sockets = new Map<Socket, number>();
  const connections = { opened: 0, open: 0 };
  const waiting = new Set<() => void>();
  let returnedCount = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers, socket } = request;
    const body = await text(request);
    const connection = sockets.get(socket) ?? 0;
    const receivedRequest = {
      method,
      path,
      headers,
      body,
      atMs: Date.now(),
      connection,
      isSigned: secret === undefined ? null : isSigned(secret, { headers, body }),
    };
    received.push(receivedRequest);
    onReceived?.(receivedRequest);
    for (const check of waiting) check();
    const reply = await receiver.respond(receivedRequest, response);
    if (reply) response.writeHead(reply.status ?? 200, reply.headers).end(reply.body);
  };
  // The sender may disconnect during a request.
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void handle(request, response).catch(() => response.destroy());
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    connections.opened += 1;
    connections.open += 1;
    sockets.set(socket, connections.opened);
    socket.on("close", () => {
      connections.open -= 1;
      sockets.delete(socket);
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const boundPort = (server.address() as AddressInfo).port;

  const waitFor = (count: number): Promise<ReceivedRequest[]> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (received.length < count) return;
        waiting.delete(check);
        resolve(received);
      };
      waiting.add(check);
      check();
    });

  const receiver: TestReceiver = {
    url: `${tls ? "https" : "http"}://127.0.0.1:${boundPort}/webhooks`,
    port: boundPort,
    received,
    connections,
    respond: options.respond ?? (() => ({})),
    async next() {
      returnedCount += 1;
      const index = returnedCount - 1;
      return (await waitFor(returnedCount))[index] as ReceivedRequest;
    },
    waitFor,
    dropConnections() {
      for (const socket of sockets.keys()) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

if (import.meta.main) {
  const [secret, status = "200"] = process.argv.slice(2);
  const { url } = await startTestReceiver({
    ...(secret ? { secret } : {}),
    respond: () => ({ status: Number(status) }),
    onReceived: print,
  });
  print({ url });
}
