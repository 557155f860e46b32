import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { allowLongUpload, limitRequestTime } from "../../src/http/server/request-timeout.ts";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

/** A request whose body has begun and does not end, to a server that does this with it. */
async function startUpload(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const upload = httpRequest({
    port,
    host: "127.0.0.1",
    method: "POST",
    headers: { "content-length": "100" },
  });
  upload.on("error", () => undefined).write("begun");
  opened.push(() => {
    upload.destroy();
    server.closeAllConnections();
    server.close();
  });
}

it("a request whose body does not come in time is late", async () => {
  const late = Promise.withResolvers<string>();
  await startUpload((request) => limitRequestTime(request, 20, () => late.resolve("late")));
  expect(await late.promise).toBe("late");
});

// evidence: slow-body-longer-import-timeout
it("one that is allowed longer is not", async () => {
  const seen: string[] = [];
  const over = Promise.withResolvers<void>();
  await startUpload((request) => {
    limitRequestTime(request, 20, () => seen.push("late"));
    allowLongUpload(request);
    // Of two timers the one that was set later, and for as long, fires later.
    setTimeout(over.resolve, 20);
  });
  await over.promise;
  expect(seen).toEqual([]);
});
