/** A server that is told to stop while requests still come: first it says so, then it shuts its door. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type ServerProcess } from "../support/server-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";
import { eventually } from "../support/webhook-faults.load.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Longer than any test waits. */
async function startSlowToStop(): Promise<ServerProcess> {
  const server = await startServer({
    DATABASE_URL: database.url,
    WAYMARK_ROLE: "api",
    SHUTDOWN_DELAY: "5m",
    KEEP_ALIVE_TIMEOUT: "620s",
    LOG_LEVEL: "warn",
  });
  await server.ready();
  return server;
}

it("SIGTERM: it is not ready any more, yet answers whoever has not noticed, and asks for each connection to be closed", async () => {
  const server = await startSlowToStop();
  const before = await fetch(`${server.url}/v1/jobs`);
  expect([before.status, before.headers.get("connection")]).toEqual([401, "keep-alive"]);
  const ended = server.kill("SIGTERM");
  await eventually(async () => {
    const response = await fetch(`${server.url}/health/ready`);
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ status: "stopping" }),
    ]);
  });
  expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
  const late = await fetch(`${server.url}/v1/jobs`);
  expect([late.status, late.headers.get("connection")]).toEqual([401, "close"]);
  // Whoever cannot wait says so once more.
  void server.kill("SIGTERM");
  expect(await ended).toBe("SIGTERM");
});

it("SIGINT, which comes from a terminal, is not waited after", async () => {
  const server = await startSlowToStop();
  expect(await server.kill("SIGINT")).toBe(0);
});

it("SIGINT after SIGTERM is a second signal, and ends it at once", async () => {
  const server = await startSlowToStop();
  const ended = server.kill("SIGTERM");
  await eventually(async () => expect((await fetch(`${server.url}/health/ready`)).status).toBe(503));
  void server.kill("SIGINT");
  expect(await ended).toBe("SIGINT");
});

it("until then a connection waits for its next request for as long as is set, which its answers tell", async () => {
  const server = await startSlowToStop();
  const response = await fetch(`${server.url}/health/live`);
  expect(response.headers.get("keep-alive")).toBe("timeout=620");
  await server.kill("SIGINT");
});
