/** A receiver that does with a connection what no HTTP server would. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface TcpReceiver extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:PORT/`. */
  readonly url: string;
  readonly connections: Socket[];
}

/** `onConnection` gets each socket as it is accepted. */
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

/** Answers each request, once its head and body are there, with the bytes that `answer` gives for its number from 1. */
export function respondWith(
  answer: (count: number, socket: Socket) => string | null,
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
      const bytes = answer(count, socket);
      if (bytes !== null) socket.write(bytes, "latin1");
    });
  };
}
