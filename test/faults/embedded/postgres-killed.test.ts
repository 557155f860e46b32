/** The embedded PostgreSQL whose server or holders are killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, onTestFailed, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../../src/embedded/postgres/embedded-postgres.ts";
import { isFree } from "../../../src/embedded/free-port.ts";
import { readPostmasterPid } from "../../../src/embedded/postgres/postmaster-pid.ts";
import { isRunning } from "../../../src/embedded/processes.ts";
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
} from "../../support/processes/embedded-processes.ts";

const isRoot = process.getuid?.() === 0;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(stopAndRemoveAll);
afterAll(removeSharedFolder);

/** Each look listens there for a moment. */
async function whileOthersLook(port: number, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      for (let times = 0; times < 20; times += 1) await isFree(port);
      await nextTurn();
    }
  };
  const looking = look();
  try {
    await act();
  } finally {
    isOver = true;
    await looking;
  }
}

/** What a server that was killed with its holder leaves: its address, and another program at its port. */
async function killedServer(dataDir: string): Promise<{ url: string; other: Server; taken: string }> {
  const holder = await startHolder(dataDir, "exclusive");
  const killed = await postmasterPid(dataDir);
  await holder.kill("SIGKILL");
  process.kill(killed, "SIGKILL");
  await waitUntilProcessEnds(killed);
  const port = Number(new URL(holder.url).port);
  return { url: holder.url, other: await takePort(port), taken: takenSentence(port) };
}

const takenSentence = (port: number): string => `Port ${port}, where PostgreSQL answered, is taken.`;

/** Another program. What a killed server leaves behind holds its port for a moment more. */
async function takePort(port: number): Promise<Server> {
  const other = createServer((socket) => socket.destroy());
  onTestFinished(() => void other.close());
  await vi.waitFor(() => once(other.listen(port, "127.0.0.1"), "listening"), 20_000);
  return other;
}

describe("killed processes", () => {
  it("is joined again, data and all, after its holder was killed", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).toBe(postmaster);
    expect(await query(held.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
  });

  it("recovers what was committed after its holder and PostgreSQL itself were killed", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(postmaster, "SIGKILL");
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).not.toBe(postmaster);
    expect(await query(held.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
  });

  it("is started again at the same address when it is killed under its holders, who can still stop it", async () => {
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
    const users =
      "select count(*)::int as users from pg_locks where locktype = 'advisory' and mode = 'ShareLock'";
    await vi.waitFor(async () => expect(await query(holder.url, users)).toEqual([{ users: 2 }]), 20_000);
    const restarted = await postmasterPid(dataDir);
    await holder.release();
    expect(await query(command.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    await command.release();
    await waitUntilProcessEnds(restarted);
  });

  it("waits for its port where another program took it meanwhile, as its holder knows no other", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const [killed, port] = [await postmasterPid(dataDir), Number(new URL(holder.url).port)];
    process.kill(holder.pid, "SIGSTOP");
    process.kill(killed, "SIGKILL");
    await waitUntilProcessEnds(killed);
    const other = await takePort(port);
    process.kill(holder.pid, "SIGCONT");
    await vi.waitFor(() => expect(holder.progress).toContain(takenSentence(port)), 20_000);
    other.close();
    await vi.waitFor(
      async () => expect(await query(holder.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]),
      20_000,
    );
    await holder.release();
  });

  it("is started again at the same address while others look whether its port is free", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    const port = Number(new URL(holder.url).port);
    await whileOthersLook(port, async () => {
      for (let times = 0; times < 10; times += 1) {
        const killed = await postmasterPid(dataDir);
        process.kill(killed, "SIGKILL");
        const started = await vi.waitUntil(async () => {
          const now = await readPostmasterPid(join(dataDir, "postgres"));
          return now?.ready === true && now.pid !== killed && now;
        }, 20_000);
        expect(started.port).toBe(port);
      }
    });
    await holder.release();
  });

  describe("where another program has taken the port of a killed one", () => {
    it("whoever starts it waits a moment for that, since others may know no other address", async () => {
      const dataDir = await sharedFolder();
      const { url, other, taken } = await killedServer(dataDir);
      const onProgress = (told: string): void => void (told === taken && other.close());
      await using held = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(held.url).toBe(url);
    });

    it("whoever comes once others have tidied up waits for it too", async () => {
      const dataDir = await sharedFolder();
      const { url, other, taken } = await killedServer(dataDir);
      await rm(join(dataDir, "postgres", "postmaster.pid"));
      const onProgress = (told: string): void => void (told === taken && other.close());
      await using held = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(held.url).toBe(url);
    });

    it("whoever starts it goes elsewhere in the end", async () => {
      const dataDir = await sharedFolder();
      const { url, taken } = await killedServer(dataDir);
      const told: string[] = [];
      await using held = await openEmbeddedPostgres({
        dataDir,
        exclusive: true,
        onProgress: (sentence) => told.push(sentence),
      });
      expect(told).toContain(taken);
      expect(held.url).not.toBe(url);
      expect(await query(held.url, "select 1 as one")).toEqual([{ one: 1 }]);
    });
  });

  it("answers at a port that no outgoing connection is lent", async () => {
    const holder = await startHolder(await makeFolder(), "exclusive");
    expect(Number(new URL(holder.url).port)).toBeLessThan(32_768);
  });

  it("leaves nothing running when it is killed and its holder lets go at once", async () => {
    const dataDir = await sharedFolder();
    const held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    await held[Symbol.asyncDispose]();
    expect(await isRunning(await postmasterPid(dataDir).catch(() => NONEXISTENT_PID))).toBe(false);
  });

  it("stays up for the server, after a crash dropped its lock, when a command leaves", async () => {
    const dataDir = await sharedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const holding = `select pid from pg_stat_activity where application_name = 'waymark:${server.pid}'`;
    const [before] = await query(server.url, holding);
    process.kill(Number(before?.["pid"]), "SIGKILL");
    await vi.waitFor(async () => {
      const [now] = await query(
        server.url,
        `${holding} and pid in (select pid from pg_locks where locktype = 'advisory')`,
      );
      expect(now).toBeDefined();
      expect(now).not.toEqual(before);
    }, 20_000);
    await (await startHolder(dataDir, "shared")).release();
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("outlives a Ctrl-C that reaches its holder's whole process group", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await holder.kill("SIGINT", "group");
    expect(await query(holder.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("starts although another living process has the number in the file of a killed one", async () => {
    const dataDir = await sharedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, INSERT_NOTE_SQL);
    const killed = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(killed, "SIGKILL");
    await waitUntilProcessEnds(killed);
    // The same user, for PostgreSQL ignores the processes of others.
    const { uid, gid } = await stat(join(dataDir, "postgres"));
    const other = spawn("sleep", ["600"], isRoot ? { uid, gid } : {});
    onTestFinished(() => void other.kill());
    const file = join(dataDir, "postgres", "postmaster.pid");
    await writeFile(file, (await readFile(file, "utf8")).replace(String(killed), String(other.pid)));
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await query(held.url, SELECT_NOTES_SQL)).toEqual([{ text: "kept" }]);
    expect(await isRunning(other.pid ?? NONEXISTENT_PID)).toBe(true);
  });
});
