/** Starts `embedded-holder.ts` processes that tests can kill, and inspects the database servers that they start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { inject } from "vitest";
import { isRunning } from "./is-running.ts";
import { eventuallyTruthy } from "../eventually.ts";

export interface HolderLine {
  readonly progress?: string;
  readonly url?: string;
  readonly error?: { readonly name: string; readonly message: string; readonly hint?: string };
}

export interface Holder {
  readonly line: HolderLine;
  readonly url: string;
  readonly pid: number;
  /** Progress messages so far. */
  readonly progress: readonly string[];
  /** Sends a signal to the process or its process group and waits for the process's exit. */
  kill(signal: NodeJS.Signals, target?: "process" | "group"): Promise<void>;
  release(): Promise<void>;
}

export const INSERT_NOTE_SQL =
  "drop table if exists note; create table note (text text); insert into note values ('kept')";
export const SELECT_NOTES_SQL = "select text from note";
/** Higher than any possible PID. */
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

/** Returns one data folder for sequential tests, because initdb is slow. Each test must leave PostgreSQL stopped. */
export async function sharedFolder(): Promise<string> {
  sharedFolderPath ??= await makeTemporaryFolder();
  return sharedFolderPath;
}

async function makeTemporaryFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), "waymark-embedded-")));
}

/** Resolves when the holder has printed its result: the database's URL or an error. */
export async function startHolder(
  dataDir: string,
  mode: "exclusive" | "shared" | "mongo",
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
      const output = JSON.parse(text) as HolderLine;
      if (output.progress === undefined) resolve(output);
      else progress.push(output.progress);
    });
    void ended.then(() => reject(new Error("The holder exited without a result")));
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
  const result = await line;
  return Object.assign(holder, { line: result, url: result.url ?? "" });
}

export async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8")).split("\n")[0]);
}

export async function mongodPid(dataDir: string): Promise<number> {
  return Number(await readFile(join(dataDir, "mongo", "mongod.lock"), "utf8"));
}

export async function waitUntilProcessEnds(pid: number): Promise<void> {
  await eventuallyTruthy(async () => !(await isRunning(pid)), { intervalMs: 10 });
}

/** Runs one statement on a new connection. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // These tests kill the server.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Kills all processes left by a test and removes the folders of `makeFolder`. */
export async function stopAndRemoveAll(): Promise<void> {
  await Promise.all([...running].map((holder) => holder.kill("SIGKILL")));
  if (sharedFolderPath !== undefined) await stopLeftoverServers(sharedFolderPath);
  for (const folder of folders.splice(0)) {
    await stopLeftoverServers(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Call at the end of a test file. */
export async function removeSharedFolder(): Promise<void> {
  if (sharedFolderPath !== undefined) await rm(sharedFolderPath, { recursive: true, force: true });
  // The next test file may run in the same process.
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
