import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { allowLongUpload, limitRequestTime } from "../../../src/api/server/server.ts";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

/** Starts an upload that never finishes, to a server with this listener. */
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

it("limitRequestTime calls back if the body does not arrive in time", async () => {
  const late = Promise.withResolvers<string>();
  await startUpload((request) => limitRequestTime(request, 20, () => late.resolve("late")));
  expect(await late.promise).toBe("late");
});

// evidence: slow-body-longer-import-timeout
it("allowLongUpload extends the timeout", async () => {
  const calls: string[] = [];
  const timeoutPassed = Promise.withResolvers<void>();
  await startUpload((request) => {
    limitRequestTime(request, 20, () => calls.push("late"));
    allowLongUpload(request);
    // Timers of equal length fire in the order they were set.
    setTimeout(timeoutPassed.resolve, 20);
  });
  await timeoutPassed.promise;
  expect(calls).toEqual([]);
});
