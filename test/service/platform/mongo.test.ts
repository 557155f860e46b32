import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient, type Db } from "mongodb";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../../src/embedded/mongo/embedded-mongo.ts";
import { StartupError } from "../../../src/platform/errors.ts";
import { openMongo, type Mongo, type MongoState } from "../../../src/platform/mongo.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";

const NOWHERE = "mongodb://127.0.0.1:1/waymark";
const up = { state: "up", message: null };
const starting = { state: "starting", message: "is starting" };
const away = { state: "down", message: "unreachable" };

const waitForState = (mongo: Mongo, state: MongoState): Promise<void> =>
  vi.waitFor(() => expect(mongo.status().state).toBe(state), { timeout: 20_000, interval: 5 });

const openWithBadOption = (): Mongo =>
  openMongo({ url: "mongodb://user:hunter2@127.0.0.1/waymark?colour=red" });

const writeNote = async (db: Db): Promise<boolean> =>
  (await db.collection("note").insertOne({ text: "kept" })).acknowledged;

const never = (): Promise<string> => Promise.withResolvers<string>().promise;

describe("openMongo", () => {
  it("connects to the database that the address names", async () => {
    await using test = createTestMongo();
    await using mongo = openMongo({ url: test.url });
    expect(mongo.status()).toEqual(starting);
    const db = await mongo.waitUntilUp();
    expect(db.databaseName).toMatch(/^test_/);
    await db.collection("note").insertOne({ text: "kept" });
    expect(mongo.status()).toEqual(up);
    expect(await mongo.waitUntilUp()).toBe(db);
  });

  it("takes the database waymark where the address names none", async () => {
    await using mongo = openMongo({ url: inject("mongoUrl").replace("/waymark?", "/?") });
    expect((await mongo.waitUntilUp()).databaseName).toBe("waymark");
  });

  it("takes an address that comes later, and starts meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    await using mongo = openMongo({ url: promise });
    const waiting = mongo.waitUntilUp();
    expect(mongo.status()).toEqual(starting);
    resolve(inject("mongoUrl"));
    expect((await waiting).databaseName).toBe("waymark");
  });

  it("refuses what is no address, and shows no password", () => {
    expect(openWithBadOption).toThrow(StartupError);
    expect(openWithBadOption).toThrow(/^MONGODB_URL is invalid: .*colour.* not supported\.$/);
    expect(openWithBadOption).not.toThrow("hunter2");
  });
});

describe("without a MongoDB", () => {
  it.each([
    ["none is set up", () => null, "no MongoDB is configured"],
    ["none can be started", () => Promise.reject(new Error("no /secret")), "could not be started"],
  ])("says that it is absent where %s", async (_, urlOf, message) => {
    await using mongo = openMongo({ url: urlOf() });
    await waitForState(mongo, "absent");
    expect(mongo.status()).toEqual({ state: "absent", message });
  });

  it("is out of reach, and waiting for it can be given up", async () => {
    await using mongo = openMongo({ url: NOWHERE });
    const giveUp = new AbortController();
    const waiting = mongo.waitUntilUp(giveUp.signal);
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual(away);
    giveUp.abort(new Error("no longer"));
    await expect(waiting).rejects.toThrow("no longer");
    await expect(mongo.waitUntilUp(giveUp.signal)).rejects.toThrow("no longer");
  });

  it.each([
    ["is being looked for", NOWHERE],
    ["has no address yet", never()],
  ])("is closed at once while it %s, and ends the wait for it", async (_, url) => {
    const mongo = openMongo({ url });
    const waiting = mongo.waitUntilUp();
    const ended = waiting.catch((error: unknown) => String(error));
    const before = performance.now();
    await mongo[Symbol.asyncDispose]();
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(await ended).toBe("Error: The connection to MongoDB is closed.");
  });
});

describe("a MongoDB that refuses us", () => {
  it("is down, and says why, without the password", async () => {
    await using test = createTestMongo();
    await using mongo = openMongo({ url: test.url.replace("mongodb://", "mongodb://user:hunter2@") });
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual({
      state: "down",
      message: "refuses the connection: AuthenticationFailed",
    });
  });
});

describe("a MongoDB that goes away", () => {
  let dataDir: string;
  let embedded: EmbeddedMongo;
  const start = (): EmbeddedMongo =>
    openEmbeddedMongo({ dataDir, binary: inject("mongodBinary"), cacheDir: dataDir, download: false });

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "waymark-away-"));
    embedded = start();
  });
  afterAll(async () => {
    await embedded[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });

  it("is down at once, and up again when it is back, for those who wait and those who have it", async () => {
    await using mongo = openMongo({ url: embedded.url });
    const before = await mongo.waitUntilUp();
    await embedded[Symbol.asyncDispose]();
    await waitForState(mongo, "down");
    expect(mongo.status()).toEqual(away);
    const waiting = mongo.waitUntilUp();

    embedded = start();
    await embedded.url;
    const again = await waiting;
    expect(mongo.status()).toEqual(up);
    expect(again.client).toBe(before.client);
    expect(await writeNote(before)).toBe(true);
  });

  it("is found when it comes only after the first attempts", async () => {
    const url = await embedded.url;
    await embedded[Symbol.asyncDispose]();
    await using mongo = openMongo({ url });
    await waitForState(mongo, "down");
    embedded = start();
    expect(await writeNote(await mongo.waitUntilUp())).toBe(true);
  });

  it("leaves no connection behind when it is closed", async () => {
    await using client = new MongoClient(await embedded.url, { appName: "watcher" });
    const ours = async (): Promise<number> =>
      (
        await client
          .db("admin")
          .aggregate([{ $currentOp: { allUsers: true, idleConnections: true } }])
          .toArray()
      ).filter(({ appName }) => appName === "waymark").length;
    const mongo = openMongo({ url: await embedded.url });
    await mongo.waitUntilUp();
    expect(await ours()).toBeGreaterThan(0);
    await mongo[Symbol.asyncDispose]();
    await vi.waitFor(async () => expect(await ours()).toBe(0), 5_000);
  });
});
