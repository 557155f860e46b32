/** The embedded PostgreSQL after its server or the processes that use it were killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, onTestFailed, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../../../src/embedded/postgres/embedded-postgres.ts";
import { isFree } from "../../../../src/embedded/free-port.ts";
import { readPostmasterPid } from "../../../../src/embedded/postgres/postmaster-pid.ts";
import { isRunning } from "../../../../src/embedded/processes.ts";
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

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);
afterAll(removeSharedFolder);

/** Runs `act` while other code checks whether the port is free; each check listens on it briefly. */
async function whileOthersCheckPort(port: number, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const check = async (): Promise<void> => {
    while (!isOver) {
      for (let round = 0; round < 20; round += 1) await isFree(port);
      await nextTurn();
    }
  };
  const checking = check();
  try {
    await act();
  } finally {
    isOver = true;
    await checking;
  }
}

/** Kills a server and its holder, and lets another program listen on its port. */
async function killServer(dataDir: string): Promise<{ url: string; other: Server; message: string }> {
  const holder = await startHolder(dataDir, "exclusive");
  const killed = await postmasterPid(dataDir);
  await holder.kill("SIGKILL");
  process.kill(killed, "SIGKILL");
  await waitUntilProcessEnds(killed);
  const port = Number(new URL(holder.url).port);
  return { url: holder.url, other: await takePort(port), message: portInUseMessage(port) };
}

const portInUseMessage = (port: number): string => `Port ${port}, which PostgreSQL used before, is in use.`;

/** Listens on the port, once the child processes of the killed server have released it. */
async function takePort(port: number): Promise<Server> {
  const other = createServer((socket) => socket.destroy());
  onTestFinished(() => void other.close());
  await eventually(() => once(other.listen(port, "127.0.0.1"), "listening"));
  return other;
}

describe("the embedded PostgreSQL after a kill", () => {
  it("is joined by the next process if only its holder was killed", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).toBe(postmaster);
    expect(await query(postgres.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
  });

  it("recovers committed data if it was killed together with its holder", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(postmaster, "SIGKILL");
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).not.toBe(postmaster);
    expect(await query(postgres.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
  });

  it("is restarted on the same port, and stops with its last holder", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    onTestFailed(async () => {
      const files = (await readdir(dataDir)).filter((name) => name.endsWith(".log"));
      const logs = files.map((name) => readFile(join(dataDir, name), "utf8"));
      const log = (await Promise.all(logs)).join("\n").slice(-6_000);
      process.stderr.write([...holder.progress, ...command.progress, log, ""].join("\n"));
    });
    await query(holder.url, INSERT_NOTE_SQL);
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    await eventually(async () =>
      expect(await query(holder.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]),
    );
    const restarted = await postmasterPid(dataDir);
    await holder.release();
    expect(await query(command.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    await command.release();
    await waitUntilProcessEnds(restarted);
  });

  it("waits for its port if another program uses it, because its holder's URL contains it", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const [killed, port] = [await postmasterPid(dataDir), Number(new URL(holder.url).port)];
    process.kill(holder.pid, "SIGSTOP");
    process.kill(killed, "SIGKILL");
    await waitUntilProcessEnds(killed);
    const other = await takePort(port);
    process.kill(holder.pid, "SIGCONT");
    await eventually(() => expect(holder.progress).toContain(portInUseMessage(port)));
    other.close();
    await eventually(async () =>
      expect(await query(holder.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]),
    );
    await holder.release();
  });

  it("is restarted on the same port while other processes check that port", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    const port = Number(new URL(holder.url).port);
    await whileOthersCheckPort(port, async () => {
      for (let round = 0; round < 10; round += 1) {
        const killed = await postmasterPid(dataDir);
        process.kill(killed, "SIGKILL");
        const started = await eventuallyTruthy(async () => {
          const current = await readPostmasterPid(join(dataDir, "postgres"));
          return current?.ready === true && current.pid !== killed && current;
        });
        expect(started.port).toBe(port);
      }
    });
    await holder.release();
  });

  describe("if another program uses its port", () => {
    it("waits for the port at the next start, because other processes may use the old URL", async () => {
      const dataDir = await sharedFolder();
      const { url, other, message } = await killServer(dataDir);
      const onProgress = (text: string): void => void (text === message && other.close());
      await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(postgres.url).toBe(url);
    });

    it("waits for the port even if postmaster.pid was already removed", async () => {
      const dataDir = await sharedFolder();
      const { url, other, message } = await killServer(dataDir);
      await rm(join(dataDir, "postgres", "postmaster.pid"));
      const onProgress = (text: string): void => void (text === message && other.close());
      await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(postgres.url).toBe(url);
    });

    it("starts on another port after 5 seconds", async () => {
      const dataDir = await sharedFolder();
      const { url, message } = await killServer(dataDir);
      const progress: string[] = [];
      await using postgres = await openEmbeddedPostgres({
        dataDir,
        exclusive: true,
        onProgress: (text) => progress.push(text),
      });
      expect(progress).toContain(message);
      expect(postgres.url).not.toBe(url);
      expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
    });
  });

  it("listens on a port below the ephemeral ports", async () => {
    const holder = await startHolder(await makeFolder(), "exclusive");
    expect(Number(new URL(holder.url).port)).toBeLessThan(32_768);
  });

  it("leaves no process running if its holder is disposed of right after the kill", async () => {
    const dataDir = await sharedFolder();
    const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    await postgres[Symbol.asyncDispose]();
    expect(await isRunning(await postmasterPid(dataDir).catch(() => NONEXISTENT_PID))).toBe(false);
  });

  it("keeps running for the server after a crash closed all connections and a command ended", async () => {
    const dataDir = await sharedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const checkpointerSql = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
    const [before] = await query(server.url, checkpointerSql);
    process.kill(Number(before?.["pid"]), "SIGKILL");
    await eventually(async () => {
      const [current] = await query(server.url, checkpointerSql);
      expect(current).toBeDefined();
      expect(current).not.toEqual(before);
    });
    await (await startHolder(dataDir, "shared")).release();
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("stops with a command although a killed server left its reference", async () => {
    const dataDir = await sharedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    await server.kill("SIGKILL");
    const postmaster = await postmasterPid(dataDir);
    await command.release();
    expect(await isRunning(postmaster)).toBe(false);
    expect((await readdir(dataDir)).filter((name) => name.includes("reference"))).toEqual([]);
  });

  it("keeps running after Ctrl-C in its holder's process group", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await holder.kill("SIGINT", "group");
    expect(await query(holder.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("starts although the process ID in postmaster.pid belongs to another running process", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const killed = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(killed, "SIGKILL");
    await waitUntilProcessEnds(killed);
    // Use the same user, because PostgreSQL ignores processes of other users.
    const { uid, gid } = await stat(join(dataDir, "postgres"));
    const other = spawn("sleep", ["600"], isRoot ? { uid, gid } : {});
    onTestFinished(() => void other.kill());
    const file = join(dataDir, "postgres", "postmaster.pid");
    await writeFile(file, (await readFile(file, "utf8")).replace(String(killed), String(other.pid)));
    await using postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await query(postgres.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    expect(await isRunning(other.pid ?? NONEXISTENT_PID)).toBe(true);
  });
});
