/** NOTIFY and LISTEN: merging of calls, payloads, reconnection and disposal. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it, vi, onTestFinished } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createNotifier, listenToChannel } from "../../../src/core/postgres/notify.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";
import { eventually, eventuallyTruthy } from "../../support/eventually.ts";

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

/** A channel for each test: a late notification of one would reach the next. */
let channel = "";
beforeEach(({ task }) => {
  channel = `news_${task.id.replaceAll("-", "_")}`;
});

function listen(url: string): { heard: () => number } & AsyncDisposable {
  const onNotification = vi.fn<() => void>();
  const listener = listenToChannel({
    url,
    channel,
    applicationName: "test",
    logger: createLogger("silent"),
    onNotification,
  });
  return Object.assign(listener, { heard: () => onNotification.mock.calls.length });
}

it("delivers a notification, and merges many calls into few", async () => {
  const notify = createNotifier(database, channel);
  await using listener = listen(testDatabase.url);
  // The first call follows the connection.
  await eventually(() => expect(listener.heard()).toBe(1));
  for (let n = 0; n < 1_000; n += 1) notify();
  await eventually(() => expect(listener.heard()).toBeGreaterThan(1));
  expect(listener.heard()).toBeLessThan(100);
});

it("delivers distinct words, and an empty payload if they do not fit", async () => {
  const notify = createNotifier(database, channel, 25);
  const payloads: string[] = [];
  await using listener = listenToChannel({
    url: testDatabase.url,
    channel,
    applicationName: "test",
    logger: createLogger("silent"),
    onNotification: (payload) => payloads.push(payload),
  });
  await eventually(() => expect(payloads).toEqual([""]));
  notify(["a", "b"]);
  for (let n = 0; n < 1_000; n += 1) notify([n % 2 === 0 ? "c" : "d"]);
  await eventually(() => expect(payloads.slice(1)).toEqual(["a,b", "c,d"]));
  notify(Array.from({ length: 216 }, (_, n) => String(n).padStart(36, "0")));
  await eventually(() => expect(payloads[3]).toHaveLength(216 * 37 - 1));
  notify(Array.from({ length: 217 }, (_, n) => String(n).padStart(36, "0")));
  await eventually(() => expect(payloads[4]).toBe(""));
  expect(listener).toBeDefined();
});

it("reconnects after a lost connection, and reports that notifications may have been missed", async () => {
  await using proxy = await startFaultProxy(testDatabase.url);
  await using listener = listen(proxy.url);
  await eventually(() => expect(listener.heard()).toBe(1));
  proxy.disconnect();
  proxy.restore();
  await eventually(() => expect(listener.heard()).toBe(2));
  createNotifier(database, channel)();
  await eventually(() => expect(listener.heard()).toBe(3));
});

/** Starts a server that passes connections on to PostgreSQL as `pass` does, until the test ends. Returns its URL. */
async function startForwarder(pass: (front: Socket, back: Socket) => void): Promise<string> {
  const target = new URL(testDatabase.url);
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (front) => {
    const back = connect(Number(target.port || 5432), target.hostname);
    sockets.push(front, back);
    pass(front, back);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return url.href;
}

it("closes even if the server does not close the connection", async () => {
  // Forwards everything except the end of the connection.
  const url = await startForwarder((front, back) => {
    front.pipe(back, { end: false });
    back.pipe(front, { end: false });
  });
  const listener = listen(url);
  await eventually(() => expect(listener.heard()).toBe(1));
  await listener[Symbol.asyncDispose]();
});

it("closes although the server does not answer the LISTEN statement", async () => {
  let isHanging = false;
  const url = await startForwarder((front, back) => {
    front.on("data", (chunk) => {
      isHanging ||= chunk.includes(`listen "${channel}"`);
      back.write(chunk);
    });
    back.on("data", (chunk) => void (isHanging || front.write(chunk)));
    front.on("close", () => back.destroy());
  });
  const listener = listen(url);
  await eventuallyTruthy(() => isHanging);
  await listener[Symbol.asyncDispose]();
  expect(listener.heard()).toBe(0);
});
