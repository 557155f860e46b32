/** Ports for servers that stop and come back. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below those that systems lend to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of these would be lent to
 * anybody while its server is away.
 */
export const MIN_PORT = 15_000;
export const PORT_LIMIT = 32_768;
const MAX_ATTEMPTS = 20;

/** Null: none was found. */
export async function findFreePort(): Promise<number | null> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const port = randomInt(MIN_PORT, PORT_LIMIT);
    if (await isFree(port)) return port;
  }
  return null;
}

/** Whether nobody listens there on 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
