/** A TCP proxy for PostgreSQL or MongoDB that a test can disconnect, stall or slow down. Records SQL statements. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { recordQueries } from "./query-recorder.ts";

export interface FaultProxy extends AsyncDisposable {
  /** The database's URL through the proxy. */
  readonly url: string;
  /** Texts of all forwarded statements, in order. Tests may clear it. */
  readonly statements: string[];
  /** Closes all connections and accepts no new ones, as if the server were down. */
  disconnect(): void;
  /** Keeps connections open but forwards nothing, as if the server or network hung. */
  stall(): void;
  /** Delays all further data in both directions. 0 ends the delay. */
  delay(delayMs: number): void;
  /** Closes all connections and accepts new ones again. */
  restore(): void;
}

/** The key cache, counters, feed lag, request log and purges, which repeat in every process, and what follows a commit. */
const background =
  /access_revision|last_used_at|waymark\.job_counter|clock_timestamp\(\) - occurred_at|request_log|request_usage|delete from|pg_notify/;

/** Returns the statements without those of background work. */
export function withoutBackground(statements: readonly string[]): string[] {
  return statements.filter((statement) => !background.test(statement));
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

  const closeAll = (): void => {
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
      closeAll();
    },
    stall() {
      state = "stalled";
    },
    delay(ms) {
      delayMs = ms;
    },
    restore() {
      closeAll();
      state = "open";
    },
    async [Symbol.asyncDispose]() {
      closeAll();
      server.close();
      await once(server, "close");
    },
  };
}

/** Delays calls and keeps their order, even if the delay gets shorter. */
function createDelayQueue(): (delayMs: number, pass: () => void) => void {
  const queue: (() => void)[] = [];
  return (delayMs, pass) => {
    if (delayMs === 0 && queue.length === 0) return pass();
    queue.push(pass);
    setTimeout(() => queue.shift()?.(), delayMs);
  };
}

/** Closes each socket when the other one closes. */
function linkSockets([front, back]: [Socket, Socket], onClose: () => void): void {
  for (const [socket, peer] of [
    [front, back],
    [back, front],
  ] as const) {
    socket.on("error", () => peer.destroy());
    socket.on("close", () => {
      peer.destroy();
      onClose();
    });
  }
}
