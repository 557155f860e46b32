/** Starts `embedded-holder.ts` as processes to be killed, and looks at the databases that they leave or stop. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { inject, vi } from "vitest";
import { isRunning } from "../../../src/embedded/processes.ts";

export interface HolderLine {
  readonly told?: string;
  readonly url?: string;
  readonly secret?: string;
  readonly error?: { readonly name: string; readonly message: string; readonly hint?: string };
}

export interface Holder {
  readonly line: HolderLine;
  readonly url: string;
  readonly pid: number;
  /** What it has waited for, in sentences. */
  readonly progress: readonly string[];
  /** Sends a signal (to the whole process group where asked) and waits for its end. */
  kill(signal: NodeJS.Signals, target?: "process" | "group"): Promise<void>;
  release(): Promise<void>;
}

export const INSERT_NOTE_SQL =
  "drop table if exists note; create table note (text text); insert into note values ('kept')";
export const SELECT_NOTES_SQL = "select text from note";
/** Above the highest number that a process can have. */
export const NONEXISTENT_PID = 2 ** 30;

const script = fileURLToPath(new URL("embedded-holder.ts", import.meta.url));
const running = new Set<Holder>();
const folders: string[] = [];
let sharedFolderPath: string | undefined;

export async function makeFolder(): Promise<string> {
  const folder = await makeTemporaryFolder();
  folders.push(folder);
  return folder;
}

/** One data folder for many tests, one after the other, each of which leaves PostgreSQL stopped: initdb is slow. */
export async function sharedFolder(): Promise<string> {
  sharedFolderPath ??= await makeTemporaryFolder();
  return sharedFolderPath;
}

async function makeTemporaryFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), "waymark-embedded-")));
}

/** Resolves when it has printed its line: it holds, or has failed. */
export async function startHolder(
  dataDir: string,
  mode: "exclusive" | "shared" | "secret" | "mongo",
  user: { uid?: number; gid?: number } = {},
): Promise<Holder> {
  const child = spawn(process.execPath, [script, dataDir, mode, inject("mongodBinary")], {
    ...user,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pid = child.pid ?? 0;
  const ended = once(child, "exit").then(() => void running.delete(holder));
  const progress: string[] = [];
  const line = new Promise<HolderLine>((resolve, reject) => {
    createInterface(child.stdout).on("line", (text) => {
      const said = JSON.parse(text) as HolderLine;
      if (said.told === undefined) resolve(said);
      else progress.push(said.told);
    });
    void ended.then(() => reject(new Error("The holder ended without a line")));
  });
  const holder: Holder = {
    line: {},
    url: "",
    pid,
    progress,
    async kill(signal, target = "process") {
      process.kill(target === "group" ? -pid : pid, signal);
      await ended;
    },
    async release() {
      child.stdin.end();
      await ended;
    },
  };
  running.add(holder);
  const said = await line;
  return Object.assign(holder, { line: said, url: said.url ?? "" });
}

export async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8")).split("\n")[0]);
}

export async function mongodPid(dataDir: string): Promise<number> {
  return Number(await readFile(join(dataDir, "mongo", "mongod.lock"), "utf8"));
}

export async function waitUntilProcessEnds(pid: number): Promise<void> {
  await vi.waitUntil(async () => !(await isRunning(pid)), { timeout: 20_000, interval: 10 });
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that is killed is what these tests are about.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Ends every process that a test has left, and removes its own folders. */
export async function stopAndRemoveAll(): Promise<void> {
  await Promise.all([...running].map((holder) => holder.kill("SIGKILL")));
  if (sharedFolderPath !== undefined) await stopLeftoverServers(sharedFolderPath);
  for (const folder of folders.splice(0)) {
    await stopLeftoverServers(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** For the end of a test file. */
export async function removeSharedFolder(): Promise<void> {
  if (sharedFolderPath !== undefined) await rm(sharedFolderPath, { recursive: true, force: true });
  // The next file may run in this very process.
  sharedFolderPath = undefined;
}

async function stopLeftoverServers(folder: string): Promise<void> {
  for (const [pidOf, signal] of [
    [postmasterPid, "SIGQUIT"],
    [mongodPid, "SIGKILL"],
  ] as const) {
    const pid = await pidOf(folder).catch(() => 0);
    if (pid === 0 || !(await isRunning(pid))) continue;
    process.kill(pid, signal);
    await waitUntilProcessEnds(pid);
  }
}
