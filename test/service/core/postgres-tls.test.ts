/** `sslmode` in DATABASE_URL applies to the pool and to listening connections alike. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { listenToChannel } from "../../../src/core/postgres/notify.ts";

/** The first message of a client that wants TLS. Without TLS it is the start-up message, with the user's name. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Starts a server that closes each connection after its first message. `message` resolves with the first one. */
async function startRecorder(): Promise<{ url: string; message: Promise<Buffer> }> {
  const { promise: message, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (chunk) => {
      resolve(chunk);
      socket.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `postgresql://waymark:secret@127.0.0.1:${port}/waymark`, message };
}

const UNREACHABLE = "The database is unreachable. Try again shortly.";

// evidence: database-url-tls
it.each([
  ["?sslmode=verify-full", true],
  ["", false],
])("the pool asks for TLS only if the URL says so: %j", async (query, asksForTls) => {
  const { url, message } = await startRecorder();
  await using database = await openDatabase({ url: url + query, poolSize: 1, entities });
  await expect(database.em().execute("select 1")).rejects.toThrow(UNREACHABLE);
  expect(SSL_REQUEST.equals(await message)).toBe(asksForTls);
});

it("a listening connection asks for TLS if the URL says so", async () => {
  const { url, message } = await startRecorder();
  const listener = listenToChannel({
    url: `${url}?sslmode=verify-full`,
    channel: "waymark_test",
    applicationName: "waymark test",
    logger: createLogger("silent"),
    onNotification: () => undefined,
  });
  onTestFinished(() => listener[Symbol.asyncDispose]());
  expect(await message).toEqual(SSL_REQUEST);
});
