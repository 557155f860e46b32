import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it, onTestFailed, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { isFree } from "../../src/embedded/free-port.ts";
import { readPostmasterPid } from "../../src/embedded/postmaster-pid.ts";
import { isRunning } from "../../src/embedded/processes.ts";
import {
  cleanUp,
  makeFolder,
  usedFolder,
  postmasterPid,
  query,
  removeUsedFolder,
  startHolder,
  untilGone,
} from "../support/embedded-processes.ts";

const keepNote = "drop table if exists note; create table note (text text); insert into note values ('kept')";
const readNotes = "select text from note";
const isRoot = process.getuid?.() === 0;
/** Above the highest number that a process can have. */
const noProcess = 2 ** 30;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
afterEach(cleanUp);
afterAll(removeUsedFolder);

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
  await untilGone(killed);
  const port = Number(new URL(holder.url).port);
  const other = createServer((socket) => socket.destroy());
  onTestFinished(() => void other.close());
  await vi.waitFor(() => once(other.listen(port, "127.0.0.1"), "listening"), 20_000);
  return { url: holder.url, other, taken: `Port ${port}, where PostgreSQL answered, is taken.` };
}

describe("opening the embedded PostgreSQL", () => {
  it("creates a cluster on first use and finds the data again on the next", async () => {
    const dataDir = await makeFolder();
    const told: string[] = [];
    {
      await using first = await openEmbeddedPostgres({
        dataDir,
        exclusive: true,
        onProgress: (text) => told.push(text),
      });
      await query(first.url, keepNote);
    }
    await using second = await openEmbeddedPostgres({
      dataDir,
      exclusive: true,
      onProgress: (text) => told.push(text),
    });
    expect(await query(second.url, readNotes)).toEqual([{ text: "kept" }]);
    expect(told).toEqual([`Creating a PostgreSQL cluster in ${dataDir}/postgres.`]);
  });

  it("lets two processes open a fresh folder at once", async () => {
    const dataDir = await makeFolder();
    const [one, other] = await Promise.all([
      startHolder(dataDir, "shared"),
      startHolder(dataDir, "exclusive"),
    ]);
    expect(one.url).not.toBe("");
    expect(other.url).toBe(one.url);
    await query(one.url, keepNote);
    expect(await query(other.url, readNotes)).toEqual([{ text: "kept" }]);
    expect((await readdir(dataDir)).filter((name) => name.includes(".of-"))).toEqual([]);
  });

  it("sorts by code point and knows the letters of every script", async () => {
    const dataDir = await usedFolder();
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: false });
    const [row] = await query(
      held.url,
      "select lower('ÅÉΣ') as lower, 'é' > 'z' as by_code_point, 'É' ilike 'é' as ilike",
    );
    expect(row).toEqual({ lower: "åéσ", by_code_point: true, ilike: true });
  });

  it("keeps values out of the log when a statement fails", async () => {
    const dataDir = await usedFolder();
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    await query(
      held.url,
      "create table if not exists person (email text primary key); insert into person values ('ada@example.org')",
    );
    await expect(query(held.url, "insert into person values ('ada@example.org')")).rejects.toThrow(
      "duplicate key",
    );
    const log = await readFile(join(dataDir, "postgres.log"), "utf8");
    expect(log).toContain("23505 ERROR");
    expect(log).not.toContain("ada@example.org");
  });

  it("removes a half-made cluster whose maker was killed", async () => {
    const dataDir = await makeFolder();
    const gone = spawn("true");
    await once(gone, "exit");
    await mkdir(join(dataDir, `postgres.of-${gone.pid}-abc1`, "postgres"), { recursive: true });
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(held.url).toContain("/waymark");
    expect((await readdir(dataDir)).toSorted()).toEqual(["postgres", "postgres-password", "postgres.log"]);
  });

  it.runIf(isRoot)("works for root below a folder that is closed to all others", async () => {
    const closed = await makeFolder();
    await chmod(closed, 0o700);
    const dataDir = join(closed, "data");
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await query(held.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await stat(closed)).mode & 0o777).toBe(0o700);
  });
});

describe("sharing the embedded PostgreSQL", () => {
  it("refuses a second server of the same folder and names the first", async () => {
    const dataDir = await usedFolder();
    const first = await startHolder(dataDir, "exclusive");
    const second = await startHolder(dataDir, "exclusive");
    expect(second.line.error).toEqual({
      name: "StartupError",
      message: `The data folder ${dataDir} is already served by another Waymark (process ${first.pid}).`,
      hint: "Stop that one first, or set WAYMARK_DATA_DIR to a folder of its own for this one.",
    });
    expect(await query(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("lets a command work beside the server and leave without stopping it", async () => {
    const dataDir = await usedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    expect(command.url).toBe(server.url);
    await command.letGo();
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("stops PostgreSQL when the last one lets go, whoever that is", async () => {
    const dataDir = await usedFolder();
    const server = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    const postmaster = await postmasterPid(dataDir);
    await server.letGo();
    expect(await query(command.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await command.letGo();
    await untilGone(postmaster);
    await expect(postmasterPid(dataDir)).rejects.toThrow("ENOENT");
  });

  it.for(["SIGINT", "SIGTERM", "SIGQUIT", "SIGKILL"] as const)(
    "is started again for whoever waits when it is ended by %s while it starts",
    async (signal) => {
      const dataDir = await usedFolder();
      await (await startHolder(dataDir, "shared")).letGo();
      const opening = openEmbeddedPostgres({ dataDir, exclusive: true });
      const starting = vi.waitUntil(
        async () => (await readPostmasterPid(join(dataDir, "postgres")))?.pid ?? 0,
        { timeout: 20_000, interval: 1 },
      );
      process.kill(await Promise.race([starting, opening.then(() => noProcess)]), signal);
      await using held = await opening;
      expect(await query(held.url, "select 1 as one")).toEqual([{ one: 1 }]);
    },
  );

  it("serves whoever comes while the last one leaves", async () => {
    const dataDir = await usedFolder();
    const comeAndGo = async (): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        await using held = await openEmbeddedPostgres({ dataDir, exclusive: false });
        expect(await query(held.url, "select 1 as one")).toEqual([{ one: 1 }]);
      }
    };
    await Promise.all([comeAndGo(), comeAndGo(), comeAndGo()]);
    await expect(postmasterPid(dataDir)).rejects.toThrow("ENOENT");
  });

  it("gives a copy of a folder in use a PostgreSQL of its own", async () => {
    const [dataDir, copy] = [await usedFolder(), join(await makeFolder(), "copy")];
    await using original = await openEmbeddedPostgres({ dataDir, exclusive: true });
    await query(original.url, `${keepNote}; checkpoint`);
    await promisify(execFile)("cp", ["-pR", dataDir, copy]);
    await using copied = await openEmbeddedPostgres({ dataDir: copy, exclusive: true });
    await query(copied.url, "delete from note");
    expect(await query(original.url, readNotes)).toEqual([{ text: "kept" }]);
  });
});

describe("killed processes", () => {
  it("is joined again, data and all, after its holder was killed", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, keepNote);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).toBe(postmaster);
    expect(await query(held.url, readNotes)).toEqual([{ text: "kept" }]);
  });

  it("recovers what was committed after its holder and PostgreSQL itself were killed", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, keepNote);
    const postmaster = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(postmaster, "SIGKILL");
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await postmasterPid(dataDir)).not.toBe(postmaster);
    expect(await query(held.url, readNotes)).toEqual([{ text: "kept" }]);
  });

  it("is started again at the same address when it is killed under its holders, who can still stop it", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    const command = await startHolder(dataDir, "shared");
    onTestFailed(async () => {
      const files = (await readdir(dataDir)).filter((name) => name.endsWith(".log"));
      const logs = files.map((name) => readFile(join(dataDir, name), "utf8"));
      const log = (await Promise.all(logs)).join("\n").slice(-6_000);
      process.stderr.write([...holder.told, ...command.told, log, ""].join("\n"));
    });
    await query(holder.url, keepNote);
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    const users =
      "select count(*)::int as users from pg_locks where locktype = 'advisory' and mode = 'ShareLock'";
    await vi.waitFor(async () => expect(await query(holder.url, users)).toEqual([{ users: 2 }]), 20_000);
    const restarted = await postmasterPid(dataDir);
    await holder.letGo();
    expect(await query(command.url, readNotes)).toEqual([{ text: "kept" }]);
    await command.letGo();
    await untilGone(restarted);
  });

  it("waits for its port where another program took it meanwhile, as its holder knows no other", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, keepNote);
    const [killed, port] = [await postmasterPid(dataDir), Number(new URL(holder.url).port)];
    process.kill(holder.pid, "SIGSTOP");
    process.kill(killed, "SIGKILL");
    await untilGone(killed);
    const other = createServer();
    onTestFinished(() => void other.close());
    // What the killed server leaves behind holds its port for a moment more.
    await vi.waitFor(() => once(other.listen(port, "127.0.0.1"), "listening"), 20_000);
    process.kill(holder.pid, "SIGCONT");
    const waited = `Port ${port}, where PostgreSQL answered, is taken.`;
    await vi.waitFor(() => expect(holder.told).toContain(waited), 20_000);
    other.close();
    await vi.waitFor(
      async () => expect(await query(holder.url, readNotes)).toEqual([{ text: "kept" }]),
      20_000,
    );
    await holder.letGo();
  });

  it("is started again at the same address while others look whether its port is free", async () => {
    const dataDir = await usedFolder();
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
    await holder.letGo();
  });

  describe("where another program has taken the port of a killed one", () => {
    it("whoever starts it waits a moment for that, since others may know no other address", async () => {
      const dataDir = await usedFolder();
      const { url, other, taken } = await killedServer(dataDir);
      const onProgress = (told: string): void => void (told === taken && other.close());
      await using held = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(held.url).toBe(url);
    });

    it("whoever comes once others have tidied up waits for it too", async () => {
      const dataDir = await usedFolder();
      const { url, other, taken } = await killedServer(dataDir);
      await rm(join(dataDir, "postgres", "postmaster.pid"));
      const onProgress = (told: string): void => void (told === taken && other.close());
      await using held = await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress });
      expect(held.url).toBe(url);
    });

    it("whoever starts it goes elsewhere in the end", async () => {
      const dataDir = await usedFolder();
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
    const dataDir = await usedFolder();
    const held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    process.kill(await postmasterPid(dataDir), "SIGKILL");
    await held[Symbol.asyncDispose]();
    expect(await isRunning(await postmasterPid(dataDir).catch(() => noProcess))).toBe(false);
  });

  it("stays up for the server, after a crash dropped its lock, when a command leaves", async () => {
    const dataDir = await usedFolder();
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
    await (await startHolder(dataDir, "shared")).letGo();
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("outlives a Ctrl-C that reaches its holder's whole process group", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await holder.kill("SIGINT", "group");
    expect(await query(holder.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("starts although another living process has the number in the file of a killed one", async () => {
    const dataDir = await usedFolder();
    const holder = await startHolder(dataDir, "exclusive");
    await query(holder.url, keepNote);
    const killed = await postmasterPid(dataDir);
    await holder.kill("SIGKILL");
    process.kill(killed, "SIGKILL");
    await untilGone(killed);
    // The same user, for PostgreSQL ignores the processes of others.
    const { uid, gid } = await stat(join(dataDir, "postgres"));
    const other = spawn("sleep", ["600"], isRoot ? { uid, gid } : {});
    onTestFinished(() => void other.kill());
    const file = join(dataDir, "postgres", "postmaster.pid");
    await writeFile(file, (await readFile(file, "utf8")).replace(String(killed), String(other.pid)));
    await using held = await openEmbeddedPostgres({ dataDir, exclusive: true });
    expect(await query(held.url, readNotes)).toEqual([{ text: "kept" }]);
    expect(await isRunning(other.pid ?? noProcess)).toBe(true);
  });
});
