/** A receiver that rejects the first attempt of every third event. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const FLAKY_EVERY = 3;

export async function startFlakyReceiver(): Promise<{ url: string } & AsyncDisposable> {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => {
      const id = String(request.headers["webhook-id"]);
      const isRejected = !seen.has(id) && seen.size % FLAKY_EVERY === 0;
      seen.add(id);
      response.writeHead(isRejected ? 500 : 200, { "content-length": 0 }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
