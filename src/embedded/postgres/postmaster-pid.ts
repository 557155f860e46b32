/** Reads the files that PostgreSQL writes about its postmaster: `postmaster.pid`, which a crash leaves stale, and `postmaster.opts`. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { acquireLock } from "../lock-file.ts";
import { readIfPresent } from "../data-folder.ts";
import { isAlive, readCommandLine } from "../processes.ts";

const staleAfterMs = 5_000;

export interface PostmasterPid {
  /** 0 if the file is empty: PostgreSQL is about to write it, or a power cut truncated it. */
  readonly pid: number;
  readonly port: number;
  /** True once start and recovery have finished, until a stop begins. */
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

/** Returns the port of this folder's previous server, from `postmaster.opts`; 0 if unknown. */
export async function readLastPort(clusterDir: string): Promise<number> {
  const text = await readIfPresent(join(clusterDir, "postmaster.opts"));
  const [, folder, port] = /"-D" "(.+)" "-p" "(\d+)"/.exec(text ?? "") ?? [];
  // A copied folder contains the original's file, with another path.
  return folder === clusterDir ? toNumber(port) : 0;
}

/** True if the file's process no longer exists. Does not detect a reused process ID; `isPostmasterOf` does. */
export async function isStale(clusterDir: string, { pid }: PostmasterPid): Promise<boolean> {
  return pid === 0 ? isOld(join(clusterDir, "postmaster.pid")) : !isAlive(pid);
}

/** True if the process is a postmaster of this cluster, judged by its command line. */
export async function isPostmasterOf(clusterDir: string, pid: number): Promise<boolean> {
  const command = await readCommandLine(pid);
  return command.includes("postgres") && command.includes(clusterDir);
}

/**
 * Removes a stale `postmaster.pid` under a lock; returns false if another process holds the lock. PostgreSQL's own cleanup
 * can remove the new file of another starting server, and fails if the process ID was reused by the same user.
 */
export async function removeStale(clusterDir: string, expected: PostmasterPid): Promise<boolean> {
  const path = join(clusterDir, "postmaster.pid");
  const releaseLock = await acquireLock(`${path}.lock`);
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
