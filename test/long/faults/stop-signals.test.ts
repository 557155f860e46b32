/** Signals that stop a server: which ones wait for the drain delay, and which stop it immediately. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { startServerProcess, type ServerProcess } from "../../support/processes/server-process.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  // Otherwise `npm start` builds it.
  await buildSite();
}, BUILD_TIMEOUT_MS);
afterAll(() => database[Symbol.asyncDispose]());

/** Starts a server whose drain delay is longer than any test. */
async function startServerWithLongDrain(): Promise<ServerProcess> {
  const server = await startServerProcess({
    DATABASE_URL: database.url,
    WAYMARK_ROLE: "api",
    SHUTDOWN_DRAIN_DELAY: "5m",
    LOG_LEVEL: "warn",
  });
  await server.waitUntilReady();
  return server;
}

it("SIGINT stops without the drain delay", async () => {
  const server = await startServerWithLongDrain();
  expect(await server.kill("SIGINT")).toBe(0);
});

it("a SIGTERM that arrives twice, as for a process group with a launcher, stops gracefully", async () => {
  await using server = await startServerProcess({ DATABASE_URL: database.url, WAYMARK_ROLE: "api" });
  await server.waitUntilReady();
  void server.kill("SIGTERM");
  expect(await server.kill("SIGTERM")).toBe(0);
});

it("SIGINT after SIGTERM kills the server immediately", async () => {
  const server = await startServerWithLongDrain();
  const ended = server.kill("SIGTERM");
  await eventually(async () => expect((await fetch(`${server.url}/health/ready`)).status).toBe(503));
  void server.kill("SIGINT");
  expect(await ended).toBe("SIGINT");
});

it("npm start stops the server if npm's shell ended without passing the signal on", async () => {
  const launcher = join(import.meta.dirname, "../../../src/start.mjs");
  const port = String(await freePort());
  const shell = spawn("sh", ["-c", `"${process.execPath}" "${launcher}"; true`], {
    env: {
      PATH: process.env["PATH"],
      DATABASE_URL: database.url,
      WAYMARK_SECRET: TEST_SECRET,
      WAYMARK_ROLE: "api",
      MONGODB_URL: "mongodb://127.0.0.1:9",
      LOG_LEVEL: "silent",
      PORT: port,
      npm_lifecycle_event: "start",
    },
    stdio: "ignore",
  });
  const live = `http://127.0.0.1:${port}/health/live`;
  await eventually(async () => expect((await fetch(live)).status).toBe(200));
  shell.kill("SIGTERM");
  await eventually(() => expect(fetch(live)).rejects.toThrow("fetch failed"));
});
