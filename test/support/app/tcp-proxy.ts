/** A TCP proxy in front of a server, whose connections a test can interrupt. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface TcpProxy {
  /** The URL of `target` through the proxy. */
  readonly url: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections open now. */
  readonly open: number;
  /** Closes all connections, and new ones until `accept`. */
  cut(): void;
  accept(): void;
  /** Keeps the connections open and forwards no more of their data, as a network that drops packets. */
  silence(): void;
}

/** Starts a proxy of the server at `target`, whose host is a Unix socket's encoded path or 127.0.0.1. The test closes it. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const fronts = new Set<Socket>();
  let isCut = false;
  let accepted = 0;
  const server = createServer((front) => {
    front.on("error", () => front.destroy());
    if (isCut) {
      front.destroy();
      return;
    }
    accepted += 1;
    fronts.add(front);
    front.on("close", () => fronts.delete(front));
    const back = connectTo(target);
    for (const [socket, peer] of [
      [front, back],
      [back, front],
    ] as const) {
      sockets.add(socket);
      socket.pipe(peer);
      socket.on("error", () => peer.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return fronts.size;
    },
    cut,
    accept: () => void (isCut = false),
    silence() {
      for (const socket of sockets) socket.unpipe().resume();
    },
  };
}

function connectTo(target: string): Socket {
  const { hostname, port } = new URL(target);
  return port === "" ? connect(decodeURIComponent(hostname)) : connect(Number(port), "127.0.0.1");
}
