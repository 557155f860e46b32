/** Free ports for servers that are stopped and started again on the same port. */
import { findFreePort as find, MIN_PORT, PORT_LIMIT } from "../../src/dev/free-port.ts";

export async function findFreePort(): Promise<number> {
  const port = await find();
  if (port === null) throw new Error(`No port between ${MIN_PORT} and ${PORT_LIMIT - 1} is free`);
  return port;
}
