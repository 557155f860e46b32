/** What PostgreSQL notes of its postmaster in its cluster: `postmaster.pid` while it runs, be it alive or left over, and `postmaster.opts`. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { acquireLock } from "../lock-file.ts";
import { readIfPresent } from "../data-folder.ts";
import { isAlive, readCommandLine } from "../processes.ts";

const staleAfterMs = 5_000;

export interface PostmasterPid {
  /** 0 where the file has no content: PostgreSQL is about to write it, or a power cut took it. */
  readonly pid: number;
  readonly port: number;
  /** The process has finished its start and its recovery, and has not been told to stop. */
  readonly ready: boolean;
  readonly text: string;
}

export async function readPostmasterPid(clusterDir: string): Promise<PostmasterPid | null> {
  const text = await readIfPresent(join(clusterDir, "postmaster.pid"));
  if (text === null) return null;
  // Lines: process id, folder, start time, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  return { pid: toNumber(lines[0]), port: toNumber(lines[3]), ready: lines[7]?.trim() === "ready", text };
}

/** Where the last server of this folder was to listen, as PostgreSQL notes it at each start; 0 where there was none. */
export async function readLastPort(clusterDir: string): Promise<number> {
  const text = await readIfPresent(join(clusterDir, "postmaster.opts"));
  const [, folder, port] = /"-D" "(.+)" "-p" "(\d+)"/.exec(text ?? "") ?? [];
  // A copy of a folder has the note of the original.
  return folder === clusterDir ? toNumber(port) : 0;
}

/** Whether no process stands behind the file any more. One that got its number since is told by isPostmasterOf. */
export async function isStale(clusterDir: string, { pid }: PostmasterPid): Promise<boolean> {
  return pid === 0 ? isOld(join(clusterDir, "postmaster.pid")) : !isAlive(pid);
}

/** Whether the process is a postmaster started on this cluster. */
export async function isPostmasterOf(clusterDir: string, pid: number): Promise<boolean> {
  const command = await readCommandLine(pid);
  return command.includes("postgres") && command.includes(clusterDir);
}

/**
 * Takes a leftover away; false where another process is at it. PostgreSQL does so itself, but of two that start at once
 * one can take the other's new file, and it refuses where the number now belongs to a living process of its user. Here a
 * claim lets one process at a time compare and remove. Should all fail, PostgreSQL's lock on shared memory keeps a second
 * postmaster out, and one without its file ends within a minute.
 */
export async function removeStale(clusterDir: string, expected: PostmasterPid): Promise<boolean> {
  const path = join(clusterDir, "postmaster.pid");
  const releaseLock = await acquireLock(`${path}.claim`);
  if (releaseLock === null) return false;
  try {
    if ((await readIfPresent(path)) === expected.text) await rm(path);
  } finally {
    await releaseLock();
  }
  return true;
}

async function isOld(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > staleAfterMs;
}

function toNumber(line: string | undefined): number {
  const number = Number(line);
  return number > 0 ? number : 0;
}
