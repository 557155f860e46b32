/** A TCP proxy in front of PostgreSQL, or MongoDB, that a test can cut, slow down or let fall silent, and that reads along. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { recordQueries } from "./query-recorder.ts";

export interface FaultProxy extends AsyncDisposable {
  /** The database's URL through the proxy. */
  readonly url: string;
  /** The text of every statement that passed, in order; a test may empty it. */
  readonly statements: string[];
  /** Breaks every connection and takes no more: PostgreSQL is gone. */
  disconnect(): void;
  /** Lets every connection stand and passes nothing on: PostgreSQL, or the network, hangs. */
  stall(): void;
  /** Passes on what comes from now on so much later, each way: PostgreSQL, or the network, is slow. 0: at once again. */
  delay(delayMs: number): void;
  /** All is well again for new connections; those that hung are broken. */
  restore(): void;
}

export async function startFaultProxy(databaseUrl: string): Promise<FaultProxy> {
  const target = new URL(databaseUrl);
  // The MongoDB of the test run listens on a socket.
  const socket = decodeURIComponent(target.hostname);
  const pairs = new Set<[Socket, Socket]>();
  const statements: string[] = [];
  let state: "open" | "cut" | "stalled" = "open";
  let delayMs = 0;

  const server = createServer((front) => {
    if (state === "cut") {
      front.destroy();
      return;
    }
    const back = socket.startsWith("/")
      ? connect(socket)
      : connect(Number(target.port || 5432), target.hostname);
    const pair: [Socket, Socket] = [front, back];
    const read = recordQueries((statement) => statements.push(statement));
    pairs.add(pair);
    linkSockets(pair, () => pairs.delete(pair));
    const [toBack, toFront] = [createDelayQueue(), createDelayQueue()];
    front.on("data", (chunk: Buffer) => {
      if (state !== "open") return;
      read(chunk);
      toBack(delayMs, () => back.write(chunk));
    });
    back.on("data", (chunk: Buffer) => state === "open" && toFront(delayMs, () => front.write(chunk)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const breakAll = (): void => {
    for (const [front, back] of pairs) {
      front.destroy();
      back.destroy();
    }
  };
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    statements,
    disconnect() {
      state = "cut";
      breakAll();
    },
    stall() {
      state = "stalled";
    },
    delay(ms) {
      delayMs = ms;
    },
    restore() {
      breakAll();
      state = "open";
    },
    async [Symbol.asyncDispose]() {
      breakAll();
      server.close();
      await once(server, "close");
    },
  };
}

/** Does things so much later, and in the order in which they came, also where the delay has become shorter. */
function createDelayQueue(): (delayMs: number, pass: () => void) => void {
  const queue: (() => void)[] = [];
  return (delayMs, pass) => {
    if (delayMs === 0 && queue.length === 0) return pass();
    queue.push(pass);
    setTimeout(() => queue.shift()?.(), delayMs);
  };
}

/** What ends one of two sockets ends the other. */
function linkSockets([front, back]: [Socket, Socket], onClose: () => void): void {
  for (const [one, other] of [
    [front, back],
    [back, front],
  ] as const) {
    one.on("error", () => other.destroy());
    one.on("close", () => {
      other.destroy();
      onClose();
    });
  }
}
