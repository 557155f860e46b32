/** A raw TCP server, for responses that an HTTP server cannot send. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface TcpReceiver extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:PORT/`. */
  readonly url: string;
  readonly connections: Socket[];
}

/** Calls `onConnection` for each accepted socket. */
export async function startTcpReceiver(onConnection: (socket: Socket) => void): Promise<TcpReceiver> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => socket.destroy());
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Sends the bytes that `respond` returns for each complete request; `count` is its number, from 1. */
export function respondWith(
  respond: (count: number, socket: Socket) => string | null,
): (socket: Socket) => void {
  let count = 0;
  return (socket) => {
    let pending = "";
    socket.on("data", (chunk: Buffer) => {
      pending += chunk.toString("latin1");
      const headEnd = pending.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
      if (headEnd < 0 || pending.length < headEnd + 4 + length) return;
      pending = "";
      count += 1;
      const bytes = respond(count, socket);
      if (bytes !== null) socket.write(bytes, "latin1");
    });
  };
}
