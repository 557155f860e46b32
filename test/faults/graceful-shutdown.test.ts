/** Stopping a server that still gets requests: it reports that it is stopping, then it stops listening and drains. */
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { listen } from "../../src/api/server/server.ts";
import { openRawSocket } from "../support/app/raw-http-client.ts";
import { startServerProcess } from "../support/processes/server-process.ts";
import { createTestDatabase } from "../support/database/test-database.ts";
import { eventually } from "../support/eventually.ts";

it("SIGTERM makes readiness return 503, while requests are served and connections closed after their response", async () => {
  await using database = await createTestDatabase();
  const server = await startServerProcess({
    DATABASE_URL: database.url,
    WAYMARK_ROLE: "api",
    // Longer than any test.
    SHUTDOWN_DRAIN_DELAY: "5m",
    KEEP_ALIVE_TIMEOUT: "620s",
    LOG_LEVEL: "warn",
  });
  await server.waitUntilReady();
  const before = await fetch(`${server.url}/v1/jobs`);
  expect([before.status, before.headers.get("connection"), before.headers.get("keep-alive")]).toEqual([
    401,
    "keep-alive",
    "timeout=620",
  ]);
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
  // A second SIGTERM stops it immediately. One within half a second counts as a repetition of the first.
  const repeating = setInterval(() => void server.kill("SIGTERM"), 100);
  expect(await ended).toBe("SIGTERM");
  clearInterval(repeating);
});

const startListening = () =>
  listen((_request, response) => response.setHeader("Connection", "close").end("answered"), {
    host: "127.0.0.1",
    port: 0,
    connections: { total: 10, perAddress: 10 },
    onConnectionRejected: () => undefined,
    errorUrl: (code) => code,
  });

/** Blocks for 1.5 s, which is longer than a stop keeps idle connections open. */
function blockEventLoop(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
}

describe("a process with a blocked event loop", () => {
  const REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

  // evidence: sigterm-keep-alive-request-answered
  it("answers a request on a kept connection that arrived before the stop closed idle connections", async () => {
    const server = await startListening();
    const socket = await openRawSocket(server.url);
    const stopped = server.stop();
    // After two turns, the stop's timer runs; due timers run before sockets are read.
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    socket.write(REQUEST);
    blockEventLoop();
    expect(await text(socket)).toContain("answered");
    await stopped;
  });

  // evidence: sigterm-kernel-accepted-connection-answered
  it("answers a connection that the kernel accepted before the stop", async () => {
    const server = await startListening();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    // `connect` calls the kernel in the next tick; the server has not accepted by then.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const stopped = server.stop();
    await once(socket, "connect");
    socket.write(REQUEST);
    expect(await text(socket)).toContain("answered");
    await stopped;
  });
});
