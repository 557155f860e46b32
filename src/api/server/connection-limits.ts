/** Limits of open connections, so that one client cannot use them all up. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../core/network.ts";

export interface ConnectionLimits {
  /** Maximum of all connections, below the process's limit of open files. */
  readonly total: number;
  /** Maximum per IPv4 address or IPv6 /64. Behind a proxy no limit applies, because all share its IP address. */
  readonly perAddress: number;
}

/** The limit that a rejected connection exceeded. */
export type ExceededLimit = "total" | "ip_address";

/** Closes new connections beyond the limits and calls `onRejected` with the exceeded limit. Returns a set that always contains the open ones. */
export function limitConnections(
  server: Server,
  { total, perAddress }: ConnectionLimits,
  onRejected: (limit: ExceededLimit) => void,
): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  const openByNetwork = new Map<string, number>();
  server.maxConnections = total;
  server.on("drop", () => onRejected("total"));
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    const count = (openByNetwork.get(network) ?? 0) + 1;
    if (count > perAddress) {
      socket.destroy();
      onRejected("ip_address");
      return;
    }
    open.add(socket);
    openByNetwork.set(network, count);
    socket.once("close", () => {
      open.delete(socket);
      const remaining = (openByNetwork.get(network) ?? 1) - 1;
      if (remaining === 0) openByNetwork.delete(network);
      else openByNetwork.set(network, remaining);
    });
  });
  return open;
}
