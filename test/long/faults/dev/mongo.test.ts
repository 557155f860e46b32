import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { MongoClient } from "mongodb";
import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../../../src/dev/mongo/embedded-mongo.ts";
import { isRunning } from "../../../support/processes/is-running.ts";
import { StartupError } from "../../../../src/core/errors.ts";
import {
  stopAndRemoveAll,
  makeFolder,
  mongodPid,
  startHolder,
} from "../../../support/processes/embedded-processes.ts";
import { eventually, eventuallyTruthy } from "../../../support/eventually.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);

function open(dataDir: string, binary = inject("mongodBinary")): EmbeddedMongo {
  return openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: "off" });
}

async function insertNote(url: string): Promise<void> {
  await using client = new MongoClient(url);
  await client
    .db()
    .collection("note")
    .insertOne({ text: "kept" }, { writeConcern: { journal: true } });
}

async function readNotes(url: string): Promise<unknown[]> {
  await using client = new MongoClient(url, { serverSelectionTimeoutMS: 1_000 });
  return await client
    .db()
    .collection("note")
    .find({}, { projection: { _id: 0 } })
    .toArray();
}

/** Returns the command lines of the running processes that contain `text`. */
async function commandLinesWith(text: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "command="]);
  return stdout.split("\n").filter((line) => line.includes(text));
}

describe("opening the embedded MongoDB", () => {
  it("starts MongoDB, stops it on disposal, and keeps its data for the next start", async () => {
    const dataDir = await makeFolder();
    {
      await using first = open(dataDir);
      await insertNote(await first.url);
    }
    expect(await mongodPid(dataDir)).toBe(0);
    await using second = open(dataDir);
    expect(await readNotes(await second.url)).toEqual([{ text: "kept" }]);
  });

  // evidence: embedded-mongo-socket-only
  it("listens only on a socket in a private folder, and on no port", async () => {
    const dataDir = await makeFolder();
    await using mongo = open(dataDir);
    expect(decodeURIComponent(await mongo.url)).toContain(`${dataDir}/mongo/mongod.sock`);
    expect((await stat(join(dataDir, "mongo"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, "mongo", "mongod.sock"))).mode & 0o077).toBe(0);
    expect((await stat(join(dataDir, "mongo.log"))).mode & 0o777).toBe(0o600);
    await using client = new MongoClient(await mongo.url);
    const { parsed } = await client.db("admin").command({ getCmdLineOpts: 1 });
    expect(parsed.net.bindIp).toBe(`${dataDir}/mongo/mongod.sock`);
    expect(await readFile(join(dataDir, "mongo.log"), "utf8")).not.toMatch(
      /"Listening on".*\d+\.\d+\.\d+\.\d+/,
    );
  });

  it("waits until another server on the folder has stopped", async () => {
    const dataDir = await makeFolder();
    const first = open(dataDir);
    await insertNote(await first.url);
    const progress: string[] = [];
    const binary = inject("mongodBinary");
    const options = { dataDir, binary, cacheDir: dataDir, download: "off" } as const;
    const second = openEmbeddedMongo({ ...options, onProgress: (text) => progress.push(text) });
    const waiting = "Waiting for another Waymark server that uses MongoDB in the data folder.";
    await eventually(() => expect(progress).toEqual([waiting]));
    await first[Symbol.asyncDispose]();
    expect(await readNotes(await second.url)).toEqual([{ text: "kept" }]);
    await second[Symbol.asyncDispose]();
    expect(await mongodPid(dataDir)).toBe(0);
  });

  it.for([
    ["before mongod has written its process ID", (dataDir: string) => existsSync(join(dataDir, "mongo.log"))],
    ["while starting", (dataDir: string) => mongodPid(dataDir).then(Boolean, () => false)],
  ] as const)("leaves no process running if it is disposed of %s", async ([, hasBegun]) => {
    const dataDir = await makeFolder();
    const starting = open(dataDir);
    await eventuallyTruthy(() => hasBegun(dataDir), { intervalMs: 1 });
    await starting[Symbol.asyncDispose]();
    expect(await commandLinesWith(dataDir)).toEqual([]);
  });

  it("kills a mongod that ignores SIGTERM while starting", async () => {
    const dataDir = await makeFolder();
    const binary = join(dataDir, "deaf-mongod");
    const script = [
      "#!/bin/sh",
      'if [ "$1" = --version ]; then echo "db version v6.0.5"; exit; fi',
      'trap "" TERM',
      `touch ${dataDir}/started`,
      "while :; do sleep 0.1; done",
    ];
    await writeFile(binary, script.join("\n"), { mode: 0o755 });
    const starting = open(dataDir, binary);
    await eventuallyTruthy(() => existsSync(join(dataDir, "started")), { intervalMs: 5 });
    await starting[Symbol.asyncDispose]();
    expect(await commandLinesWith(`--dbpath=${dataDir}`)).toEqual([]);
  });
});

describe("the embedded MongoDB after a kill", () => {
  it("is stopped and started again by the next process if only its owner was killed", async () => {
    const dataDir = await makeFolder();
    const holder = await startHolder(dataDir, "mongo");
    await insertNote(holder.url);
    const mongod = await mongodPid(dataDir);
    await holder.kill("SIGKILL", "group");
    {
      await using mongo = open(dataDir);
      expect(await readNotes(await mongo.url)).toEqual([{ text: "kept" }]);
      expect(await isRunning(mongod)).toBe(false);
    }
    expect(await mongodPid(dataDir)).toBe(0);
  });

  it("recovers its data if it was killed together with its owner", async () => {
    const dataDir = await makeFolder();
    const holder = await startHolder(dataDir, "mongo");
    await insertNote(holder.url);
    await holder.kill("SIGKILL");
    process.kill(await mongodPid(dataDir), "SIGKILL");
    await using mongo = open(dataDir);
    expect(await readNotes(await mongo.url)).toEqual([{ text: "kept" }]);
  });

  it("is restarted by its owner on the same socket", async () => {
    const dataDir = await makeFolder();
    const holder = await startHolder(dataDir, "mongo");
    await insertNote(holder.url);
    const killed = await mongodPid(dataDir);
    process.kill(killed, "SIGKILL");
    await eventually(async () => expect(await readNotes(holder.url)).toEqual([{ text: "kept" }]));
    const restarted = await mongodPid(dataDir);
    expect(restarted).not.toBe(killed);
    await holder.release();
    expect(await isRunning(restarted)).toBe(false);
  });
});

describe("an embedded MongoDB that cannot start", () => {
  it("fails with MongoDB's error for a damaged folder, and a hint to delete it", async () => {
    const dataDir = await makeFolder();
    await open(dataDir)[Symbol.asyncDispose]();
    await mkdir(join(dataDir, "mongo"), { recursive: true });
    await writeFile(join(dataDir, "mongo", "WiredTiger.turtle"), "damaged");
    await writeFile(join(dataDir, "mongo", "WiredTiger"), "damaged");
    await writeFile(join(dataDir, "mongo", "storage.bson"), "damaged");
    await using mongo = open(dataDir);
    const error: unknown = await mongo.url.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StartupError);
    expect(error).toMatchObject({
      message: expect.stringContaining(`MongoDB did not start. It exited with `),
      hint: expect.stringContaining(`delete ${dataDir}/mongo`),
    });
  });
});
