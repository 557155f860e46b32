import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../../../src/dev/postgres/embedded-postgres.ts";
import { isRunning } from "../../../support/processes/is-running.ts";
import {
  stopAndRemoveAll,
  INSERT_NOTE_SQL,
  makeFolder,
  NONEXISTENT_PID,
  postmasterPid,
  query,
  SELECT_NOTES_SQL,
  removeSharedFolder,
  startHolder,
  waitUntilProcessEnds,
  sharedFolder,
} from "../../../support/processes/embedded-processes.ts";
import { eventually, eventuallyTruthy } from "../../../support/eventually.ts";

const isRoot = process.getuid?.() === 0;

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);
afterAll(removeSharedFolder);

const openServer = (dataDir: string) => openEmbeddedPostgres({ dataDir, exclusive: true });

async function expectKeptNote(url: string): Promise<void> {
  expect(await query(url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
}

/** Kills the server and waits until it has ended. */
async function killPostgres(dataDir: string): Promise<number> {
  const pid = await postmasterPid(dataDir);
  process.kill(pid, "SIGKILL");
  await waitUntilProcessEnds(pid);
  return pid;
}

/** Listens on the port, once the child processes of the killed server have released it. */
async function takePort(port: number): Promise<Server> {
  const other = createServer((socket) => socket.destroy());
  onTestFinished(() => void other.close());
  await eventually(() => once(other.listen(port, "127.0.0.1"), "listening"));
  return other;
}

describe("opening the embedded PostgreSQL", () => {
  it("creates a cluster on first use, and keeps its data for the next start", async () => {
    const dataDir = await makeFolder();
    await mkdir(join(dataDir, "postgres.new", "left-by-a-killed-process"), { recursive: true });
    const progress: string[] = [];
    const onProgress = (text: string): void => void progress.push(text);
    const first = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
    await query(first.url, INSERT_NOTE_SQL);
    expect(Number(new URL(first.url).port)).toBeLessThan(32_768);
    await first[Symbol.asyncDispose]();
    await using second = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
    await expectKeptNote(second.url);
    expect(progress.filter((text) => text.startsWith("Creating"))).toEqual([
      `Creating a PostgreSQL cluster in ${dataDir}/postgres.`,
    ]);
    const files = ["postgres", "postgres-password", "postgres.lock", "postgres.log"];
    expect((await readdir(dataDir)).toSorted()).toEqual(files);
  });

  it("sorts by code point and changes the case of non-ASCII letters", async () => {
    await using postgres = await openServer(await sharedFolder());
    const [row] = await query(
      postgres.url,
      "select lower('ÅÉΣ') as lower, 'é' > 'z' as by_code_point, 'É' ilike 'é' as ilike",
    );
    expect(row).toEqual({ lower: "åéσ", by_code_point: true, ilike: true });
  });

  it("logs no values of a failed statement", async () => {
    const dataDir = await sharedFolder();
    await using postgres = await openServer(dataDir);
    const insert = "insert into person values ('ada@example.org')";
    await query(postgres.url, `create table person (email text primary key); ${insert}`);
    await expect(query(postgres.url, insert)).rejects.toThrow("duplicate key");
    const log = await readFile(join(dataDir, "postgres.log"), "utf8");
    expect(log).toContain("23505 ERROR");
    expect(log).not.toContain("ada@example.org");
  });

  it.runIf(isRoot)("works for root in a folder that other users cannot access", async () => {
    const closed = await makeFolder();
    await chmod(closed, 0o700);
    await using postgres = await openServer(join(closed, "data"));
    expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });

  it("fails with the file to restore if the password is another", async () => {
    const dataDir = await makeFolder();
    await (await openServer(dataDir))[Symbol.asyncDispose]();
    const file = join(dataDir, "postgres-password");
    await writeFile(file, "x".repeat(43));
    await expect(openServer(dataDir)).rejects.toMatchObject({
      name: "StartupError",
      message: expect.stringContaining("password authentication failed"),
      hint: expect.stringContaining(`Restore ${file} from a backup`),
    });
    await expect(postmasterPid(dataDir)).rejects.toThrow("ENOENT");
  });
});

describe("the owner of the embedded PostgreSQL", () => {
  it("is one server: a second one on the same folder fails at once", async () => {
    const dataDir = await sharedFolder();
    const first = await startHolder(dataDir, "exclusive");
    const second = await startHolder(dataDir, "exclusive");
    expect(second.line.error).toEqual({
      name: "StartupError",
      message: `The data folder ${dataDir} is already in use by another Waymark server.`,
      hint: "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
    });
    expect(await query(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("is the server, which commands use, also while it creates the cluster", async () => {
    const dataDir = await makeFolder();
    const opening = startHolder(dataDir, "exclusive");
    await eventuallyTruthy(async () => (await readdir(dataDir)).includes("postgres.lock"), { intervalMs: 1 });
    const command = await startHolder(dataDir, "shared");
    const server = await opening;
    expect(command.url).toBe(server.url);
    await command.release();
    await query(server.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await server.release();
    expect(await isRunning(postmaster)).toBe(false);
  });

  it.for([
    ["a server", true],
    ["another command", false],
  ] as const)("is a command if no server runs, and %s waits for it", async ([, exclusive]) => {
    const dataDir = await sharedFolder();
    const command = await startHolder(dataDir, "shared");
    const progress: string[] = [];
    const opening = openEmbeddedPostgres({ dataDir, exclusive, onProgress: (text) => progress.push(text) });
    await eventually(() =>
      expect(progress).toEqual(["Waiting for a Waymark command that uses PostgreSQL in the data folder."]),
    );
    const postmaster = await postmasterPid(dataDir);
    await command.release();
    await using postgres = await opening;
    expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(await postmasterPid(dataDir)).not.toBe(postmaster);
  });

  it.for(["SIGINT", "SIGKILL"] as const)(
    "starts PostgreSQL again if it gets %s while it starts",
    async (signal) => {
      const dataDir = await sharedFolder();
      await (await openServer(dataDir))[Symbol.asyncDispose]();
      const opening = openServer(dataDir);
      const starting = eventuallyTruthy(() => postmasterPid(dataDir).catch(() => 0), { intervalMs: 1 });
      process.kill(await Promise.race([starting, opening.then(() => NONEXISTENT_PID)]), signal);
      await using postgres = await opening;
      expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    },
  );

  it("starts a separate PostgreSQL for the copy of a folder in use", async () => {
    const [dataDir, copy] = [await sharedFolder(), join(await makeFolder(), "copy")];
    await using original = await openServer(dataDir);
    await query(original.url, `${INSERT_NOTE_SQL}; checkpoint`);
    await promisify(execFile)("cp", ["-pR", dataDir, copy]);
    await using copied = await openServer(copy);
    await query(copied.url, "delete from note");
    await expectKeptNote(original.url);
  });
});

describe("the embedded PostgreSQL after a kill", () => {
  it("is stopped and started again by the next process if only its owner was killed", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    const next = await startHolder(dataDir, "shared");
    expect(await isRunning(postmaster)).toBe(false);
    await expectKeptNote(next.url);
    const restarted = await postmasterPid(dataDir);
    await next.release();
    expect(await isRunning(restarted)).toBe(false);
  });

  it("recovers committed data although the ID in postmaster.pid now belongs to another process", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    await holder.kill("SIGKILL");
    const killed = await killPostgres(dataDir);
    // Use the same user, because PostgreSQL ignores processes of other users.
    const { uid, gid } = await stat(join(dataDir, "postgres"));
    const other = spawn("sleep", ["600"], isRoot ? { uid, gid } : {});
    onTestFinished(() => void other.kill());
    const file = join(dataDir, "postgres", "postmaster.pid");
    await writeFile(file, (await readFile(file, "utf8")).replace(String(killed), String(other.pid)));
    await using postgres = await openServer(dataDir);
    await expectKeptNote(postgres.url);
    expect(await isRunning(other.pid ?? NONEXISTENT_PID)).toBe(true);
  });

  it("is restarted on the same port, each time, and stops with its owner", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    for (let round = 0; round < 3; round += 1) {
      await killPostgres(dataDir);
      await eventually(() => expectKeptNote(holder.url));
    }
    const restarted = await postmasterPid(dataDir);
    await holder.release();
    expect(await isRunning(restarted)).toBe(false);
  });

  it("waits for its port if another program uses it, because its owner's URL contains it", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const port = Number(new URL(holder.url).port);
    process.kill(holder.pid, "SIGSTOP");
    await killPostgres(dataDir);
    const other = await takePort(port);
    process.kill(holder.pid, "SIGCONT");
    const log = join(dataDir, "postgres.log");
    await eventually(async () => expect(await readFile(log, "utf8")).toContain("Address already in use"));
    other.close();
    await eventually(() => expectKeptNote(holder.url));
    await holder.release();
  });

  it("leaves no process running if its owner is disposed of right after the kill", async () => {
    const dataDir = await sharedFolder();
    const postgres = await openServer(dataDir);
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    await postgres[Symbol.asyncDispose]();
    expect(await isRunning(await postmasterPid(dataDir).catch(() => NONEXISTENT_PID))).toBe(false);
  });

  it("keeps running after Ctrl-C in its owner's process group", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await holder.kill("SIGINT", "group");
    expect(await query(holder.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });
});
