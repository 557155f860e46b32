/** Ports for servers that stop and come back. */
import { findFreePort as find, LOWEST_PORT, PORTS_END } from "../../src/embedded/free-port.ts";

export async function findFreePort(): Promise<number> {
  const port = await find();
  if (port === null) throw new Error(`No port between ${LOWEST_PORT} and ${PORTS_END - 1} is free`);
  return port;
}
