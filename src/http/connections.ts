/** How many connections may stand open, so that nobody keeps the door from everybody else by opening many and sending nothing. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../platform/network.ts";

export interface ConnectionBounds {
  /** In all: below the number of files that the process may open. */
  readonly total: number;
  /** Of one IPv4 address or IPv6 /64. Behind a proxy it is the proxy's, and then no limit applies. */
  readonly perAddress: number;
}

/** Which of them a connection was beyond. */
export type ExceededBound = "total" | "address";

/** Closes each connection beyond the bounds at once, and tells `onRefused` which one it was. Those that stand are left alone. */
export function boundConnections(
  server: Server,
  { total, perAddress }: ConnectionBounds,
  onRefused: (bound: ExceededBound) => void,
): void {
  const open = new Map<string, number>();
  server.maxConnections = total;
  server.on("drop", () => onRefused("total"));
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    const count = (open.get(network) ?? 0) + 1;
    if (count > perAddress) {
      socket.destroy();
      onRefused("address");
      return;
    }
    open.set(network, count);
    socket.once("close", () => forget(open, network));
  });
}

/** Those that stand open, at any moment. */
export function openConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return open;
}

function forget(open: Map<string, number>, network: string): void {
  const left = (open.get(network) ?? 1) - 1;
  if (left === 0) open.delete(network);
  else open.set(network, left);
}
