/**
 * A real receiver of webhooks. In a process of its own: `node test/support/webhooks/receiver.ts [secret] [status]` prints
 * its URL and then each request, one line of JSON each.
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
import { verify, type Verification } from "../../../src/webhooks/signing/signature.ts";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  atMs: number;
  /** Which connection it came over, from 1. */
  connection: number;
  /** Null where the receiver knows no secret. */
  verification: Verification | null;
}

export interface ReceiverReply {
  status?: number;
  headers?: OutgoingHttpHeaders;
  body?: string | Uint8Array;
}

/** A reply, or nothing where it writes to `response` itself, or never answers. */
export type ReceiverResponder = (
  received: ReceivedRequest,
  response: ServerResponse,
) => ReceiverReply | undefined | Promise<ReceiverReply | undefined>;

export interface TestReceiverOptions {
  /** `200` and no body unless given. A test may change it while the receiver runs. */
  respond?: ReceiverResponder;
  /** Checks each signature with it. */
  secret?: string;
  tls?: { cert: string; key: string };
  port?: number;
  /** Called for each request, once it is complete. */
  onReceived?: (received: ReceivedRequest) => void;
}

export interface TestReceiver extends AsyncDisposable {
  /** `http://127.0.0.1:PORT/webhooks`, or https. */
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedRequest[];
  /** How many connections were opened, and how many stand. */
  readonly connections: { opened: number; open: number };
  respond: ReceiverResponder;
  /** The next request that nobody has taken with `next()` yet. */
  next(): Promise<ReceivedRequest>;
  /** Resolves once `count` requests have come in all. */
  waitFor(count: number): Promise<ReceivedRequest[]>;
  /** Breaks every connection, as a process that is killed does. */
  dropConnections(): void;
}

export async function startTestReceiver(options: TestReceiverOptions = {}): Promise<TestReceiver> {
  const { secret, tls, port = 0, onReceived } = options;
  const received: ReceivedRequest[] = [];
  const sockets = new Map<Socket, number>();
  const connections = { opened: 0, open: 0 };
  const waiting = new Set<() => void>();
  let taken = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers, socket } = request;
    const body = await text(request);
    const verification =
      secret === undefined ? null : verify(secret, { headers: singleValueHeaders(headers), body });
    const connection = sockets.get(socket) ?? 0;
    const one = { method, path, headers, body, atMs: Date.now(), connection, verification };
    received.push(one);
    onReceived?.(one);
    for (const check of waiting) check();
    const reply = await receiver.respond(one, response);
    if (reply) response.writeHead(reply.status ?? 200, reply.headers).end(reply.body);
  };
  // A sender that goes away in mid-request is no concern of the receiver's.
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
  const bound = (server.address() as AddressInfo).port;

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
    url: `${tls ? "https" : "http"}://127.0.0.1:${bound}/webhooks`,
    port: bound,
    received,
    connections,
    respond: options.respond ?? (() => ({})),
    async next() {
      taken += 1;
      const index = taken - 1;
      return (await waitFor(taken))[index] as ReceivedRequest;
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

function singleValueHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
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
