/** Finds a free TCP port for programs that need one as a setting. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems give out when any port will do, such as the connections of other tests. */
const PORTS = { from: 10_000, to: 32_000 };

export async function freePort(): Promise<number> {
  const port = randomInt(PORTS.from, PORTS.to);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return await freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}
