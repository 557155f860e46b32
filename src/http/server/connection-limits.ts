/** How many connections may stand open, so that nobody keeps the door from everybody else by opening many and sending nothing. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../platform/network.ts";

export interface ConnectionLimits {
  /** In all: below the number of files that the process may open. */
  readonly total: number;
  /** Of one IPv4 address or IPv6 /64. Behind a proxy it is the proxy's, and then no limit applies. */
  readonly perAddress: number;
}

/** Which of them a connection was beyond. */
export type ExceededLimit = "total" | "ip_address";

/** Closes each connection beyond the bounds at once, and tells `onRefused` which one it was. Those that stand are left alone. */
export function limitConnections(
  server: Server,
  { total, perAddress }: ConnectionLimits,
  onRejected: (limit: ExceededLimit) => void,
): void {
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
    openByNetwork.set(network, count);
    socket.once("close", () => decrementCount(openByNetwork, network));
  });
}

/** Those that stand open, at any moment. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return open;
}

function decrementCount(openByNetwork: Map<string, number>, network: string): void {
  const remaining = (openByNetwork.get(network) ?? 1) - 1;
  if (remaining === 0) openByNetwork.delete(network);
  else openByNetwork.set(network, remaining);
}
