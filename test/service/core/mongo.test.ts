import type { Db } from "mongodb";
import { beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { StartupError } from "../../../src/core/errors.ts";
import { openMongo, type Mongo, type MongoState } from "../../../src/core/mongo.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { eventually } from "../../support/eventually.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

const NOWHERE = "mongodb://127.0.0.1:1/waymark?serverSelectionTimeoutMS=100";
const up = { state: "up", message: null };
const starting = { state: "starting", message: "is starting" };
const unreachable = { state: "down", message: "unreachable" };

const waitForState = (mongo: Mongo, state: MongoState): Promise<void> =>
  eventually(() => expect(mongo.status().state).toBe(state), { intervalMs: 5 });

const openWithBadOption = (): Mongo =>
  openMongo({ url: "mongodb://user:hunter2@127.0.0.1/waymark?colour=red" });

const writeNote = async (db: Db): Promise<boolean> =>
  (await db.collection("note").insertOne({ text: "kept" })).acknowledged;

const never = (): Promise<string> => Promise.withResolvers<string>().promise;

describe("openMongo", () => {
  it("connects to the database named in the URL", async () => {
    await using test = createTestMongo();
    await using mongo = openMongo({ url: test.url });
    expect(mongo.status()).toEqual(starting);
    const db = await mongo.waitUntilUp();
    expect(db.databaseName).toMatch(/^test_/);
    await db.collection("note").insertOne({ text: "kept" });
    expect(mongo.status()).toEqual(up);
    expect(await mongo.waitUntilUp()).toBe(db);
  });

  it("accepts a promise of the URL, is starting until it resolves, and uses the database waymark if the URL names none", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    await using mongo = openMongo({ url: promise });
    const waiting = mongo.waitUntilUp();
    expect(mongo.status()).toEqual(starting);
    resolve(inject("mongoUrl").replace("/waymark?", "/?"));
    expect((await waiting).databaseName).toBe("waymark");
  });

  it("rejects an invalid URL without showing its password", () => {
    expect(openWithBadOption).toThrow(StartupError);
    expect(openWithBadOption).toThrow(/^MONGODB_URL is invalid: .*colour.* not supported\.$/);
    expect(openWithBadOption).not.toThrow("hunter2");
  });
});

describe("without a MongoDB", () => {
  it.each([
    ["none is configured", () => null, "no MongoDB is configured"],
    ["none can be started", () => Promise.reject(new Error("no /secret")), "could not be started"],
  ])("has the state absent if %s", async (_, urlOf, message) => {
    await using mongo = openMongo({ url: urlOf() });
    await waitForState(mongo, "absent");
    expect(mongo.status()).toEqual({ state: "absent", message });
  });

  it("is unreachable, and waitUntilUp can be aborted", async () => {
    await using mongo = openMongo({ url: NOWHERE });
    const controller = new AbortController();
    const waiting = mongo.waitUntilUp(controller.signal);
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual(unreachable);
    controller.abort(new Error("no longer"));
    await expect(waiting).rejects.toThrow("no longer");
    await expect(mongo.waitUntilUp(controller.signal)).rejects.toThrow("no longer");
  });

  it.each([
    // The driver would try for ten minutes.
    ["is connecting", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=600000"],
    ["has no URL yet", never()],
  ])("closes without waiting while it %s, and rejects waitUntilUp", async (_, url) => {
    const mongo = openMongo({ url });
    const waiting = mongo.waitUntilUp();
    const ended = waiting.catch((error: unknown) => String(error));
    // Time limits that begin now never end.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    await mongo[Symbol.asyncDispose]().finally(() => vi.useRealTimers());
    expect(await ended).toBe("Error: The connection to MongoDB is closed.");
  });
});

describe("a MongoDB that rejects the credentials", () => {
  it("is down with the reason, without showing the password", async () => {
    await using test = createTestMongo();
    await using mongo = openMongo({ url: test.url.replace("mongodb://", "mongodb://user:hunter2@") });
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual({
      state: "down",
      message: "refuses the connection: AuthenticationFailed",
    });
  });
});

/** A database of the test run's MongoDB, behind a proxy that closes and refuses connections like a stopped server. */
async function startStoppableMongo() {
  const test = createTestMongo();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const proxy = await startFaultProxy(test.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { host } = new URL(proxy.url);
  const { pathname } = new URL(test.url);
  // 500 ms is the driver's minimum.
  const options = "directConnection=true&heartbeatFrequencyMS=500&serverSelectionTimeoutMS=200";
  return { proxy, url: `mongodb://${host}${pathname}?${options}` };
}

describe("a MongoDB that stops", () => {
  it("is down, and up again after its restart, for waiting callers and for earlier handles", async () => {
    const { proxy, url } = await startStoppableMongo();
    await using mongo = openMongo({ url });
    const before = await mongo.waitUntilUp();
    proxy.disconnect();
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual(unreachable);
    const waiting = mongo.waitUntilUp();

    proxy.restore();
    const after = await waiting;
    expect(mongo.status()).toEqual(up);
    expect(after.client).toBe(before.client);
    expect(await writeNote(before)).toBe(true);
  });

  it("has no connection left after disposal", async () => {
    const { proxy, url } = await startStoppableMongo();
    const mongo = openMongo({ url });
    await mongo.waitUntilUp();
    expect(proxy.openCount()).toBeGreaterThan(0);
    await mongo[Symbol.asyncDispose]();
    await eventually(() => expect(proxy.openCount()).toBe(0));
  });
});
