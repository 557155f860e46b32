/** How many connections may stand open, so that nobody keeps the door from everybody else by opening many and sending nothing. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionBounds {
  /** In all: below the number of files that the process may open. */
  readonly total: number;
  /** Of one address. Where proxies stand in front it is theirs, and bounds nobody. */
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
    const address = socket.remoteAddress ?? "";
    const count = (open.get(address) ?? 0) + 1;
    if (count > perAddress) {
      socket.destroy();
      onRefused("address");
      return;
    }
    open.set(address, count);
    socket.once("close", () => forget(open, address));
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

function forget(open: Map<string, number>, address: string): void {
  const left = (open.get(address) ?? 1) - 1;
  if (left === 0) open.delete(address);
  else open.set(address, left);
}
