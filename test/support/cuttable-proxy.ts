/** A TCP proxy in front of PostgreSQL, or MongoDB, that a test can cut, slow down or let fall silent, and that reads along. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tapStatements } from "./statement-tap.ts";

export interface CuttableProxy extends AsyncDisposable {
  /** The database's URL through the proxy. */
  readonly url: string;
  /** The text of every statement that passed, in order; a test may empty it. */
  readonly statements: string[];
  /** Breaks every connection and takes no more: PostgreSQL is gone. */
  cut(): void;
  /** Lets every connection stand and passes nothing on: PostgreSQL, or the network, hangs. */
  stall(): void;
  /** Passes on what comes from now on so much later, each way: PostgreSQL, or the network, is slow. 0: at once again. */
  slow(delayMs: number): void;
  /** All is well again for new connections; those that hung are broken. */
  mend(): void;
}

export async function startCuttableProxy(databaseUrl: string): Promise<CuttableProxy> {
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
    const read = tapStatements((statement) => statements.push(statement));
    pairs.add(pair);
    join(pair, () => pairs.delete(pair));
    const [toBack, toFront] = [delayed(), delayed()];
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
    cut() {
      state = "cut";
      breakAll();
    },
    stall() {
      state = "stalled";
    },
    slow(ms) {
      delayMs = ms;
    },
    mend() {
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
function delayed(): (delayMs: number, pass: () => void) => void {
  const waiting: (() => void)[] = [];
  return (delayMs, pass) => {
    if (delayMs === 0 && waiting.length === 0) return pass();
    waiting.push(pass);
    setTimeout(() => waiting.shift()?.(), delayMs);
  };
}

/** What ends one of two sockets ends the other. */
function join([front, back]: [Socket, Socket], onClose: () => void): void {
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
