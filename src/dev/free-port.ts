/** Finds TCP ports for the embedded servers. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ephemeral ports (from 32768 on Linux, 49152 elsewhere): the system could give such a port to an outgoing
 * connection while the server is stopped.
 */
export const MIN_PORT = 15_000;
export const PORT_LIMIT = 32_768;
const MAX_ATTEMPTS = 20;

/** Returns a random port that is free on 127.0.0.1; null after 20 failed attempts. */
export async function findFreePort(): Promise<number | null> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(MIN_PORT, PORT_LIMIT);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return port;
    } catch {
      // Another process listens on it.
    } finally {
      server.close();
    }
  }
  return null;
}
