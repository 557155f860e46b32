/** A TCP proxy for a server that a test can disconnect, stall or slow down. Records SQL statements. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { recordQueries } from "./query-recorder.ts";

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

/** The key cache, counters, feed lag, request log and purges, which repeat in every process, and what follows a commit. */
const background =
  /access_revision|last_used_at|waymark\.job_counter|clock_timestamp\(\) - occurred_at|request_log|request_usage|delete from|pg_notify/;

/** Returns the statements without those of background work. */
export function withoutBackground(statements: readonly string[]): string[] {
  return statements.filter((statement) => !background.test(statement));
}

/** Starts a proxy of the server at `targetUrl`, whose host can be the encoded path of a Unix socket. */
export async function startFaultProxy(targetUrl: string) {
  const target = new URL(targetUrl);
  const socket = decodeURIComponent(target.hostname);
  const pairs = new Set<readonly [Socket, Socket]>();
  const silenced = new WeakSet<Socket>();
  const statements: string[] = [];
  let state: "open" | "cut" | "stalled" = "open";
  let [delayMs, accepted] = [0, 0];

  const server = createServer((front) => {
    if (state === "cut") {
      front.destroy();
      return;
    }
    accepted += 1;
    const back = socket.startsWith("/")
      ? connect(socket)
      : connect(Number(target.port || 5432), target.hostname);
    const pair = [front, back] as const;
    pairs.add(pair);
    const isPostgres = target.protocol.startsWith("postgres");
    const read = isPostgres ? recordQueries((statement) => statements.push(statement)) : () => undefined;
    for (const [from, to, onChunk] of [[front, back, read] as const, [back, front] as const]) {
      const pass = createDelayQueue();
      from.on("data", (chunk: Buffer) => {
        if (state !== "open" || silenced.has(front)) return;
        onChunk?.(chunk);
        pass(delayMs, () => to.write(chunk));
      });
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const closeAll = (): void => {
    for (const each of [...pairs].flat()) each.destroy();
  };
  const url = new URL(targetUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  return {
    /** The server's URL through the proxy. */
    url: url.href.replace(/\/$/, ""),
    /** Texts of all forwarded statements, in order. Tests may clear it. */
    statements,
    /** Connections accepted so far. */
    acceptedCount: () => accepted,
    /** Connections open now. */
    openCount: () => pairs.size,
    /** Closes all connections and accepts no new ones, as if the server were down. */
    disconnect() {
      state = "cut";
      closeAll();
    },
    /** Keeps connections open but forwards nothing, as if the server or network hung. */
    stall: () => void (state = "stalled"),
    /** The same for the connections open now; new ones work. */
    silence() {
      for (const [front] of pairs) silenced.add(front);
    },
    /** Delays all further data in both directions. 0 ends the delay. */
    delay: (ms: number) => void (delayMs = ms),
    /** Closes all connections and accepts new ones again. */
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
