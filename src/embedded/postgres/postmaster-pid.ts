/** Reads the files that PostgreSQL writes about its postmaster: `postmaster.pid`, which a crash leaves stale, and `postmaster.opts`. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { readIfPresent } from "../data-folder.ts";
import { readCommandLine } from "../processes.ts";

const staleAfterMs = 5_000;

export interface PostmasterPid {
  /** 0 if the file is empty: PostgreSQL is about to write it, or a power cut truncated it. */
  readonly pid: number;
  readonly port: number;
  /** True once start and recovery have finished, until a stop begins. */
  readonly ready: boolean;
}

export async function readPostmasterPid(clusterDir: string): Promise<PostmasterPid | null> {
  const text = await readIfPresent(join(clusterDir, "postmaster.pid"));
  if (text === null) return null;
  // Lines: process id, folder, start time, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  return { pid: toNumber(lines[0]), port: toNumber(lines[3]), ready: lines[7]?.trim() === "ready" };
}

/** Returns the port of this folder's previous server, from `postmaster.opts`; 0 if unknown. */
export async function readLastPort(clusterDir: string): Promise<number> {
  const text = await readIfPresent(join(clusterDir, "postmaster.opts"));
  const [, folder, port] = /"-D" "(.+)" "-p" "(\d+)"/.exec(text ?? "") ?? [];
  // A copied folder contains the original's file, with another path.
  return folder === clusterDir ? toNumber(port) : 0;
}

/**
 * Returns the process ID of this cluster's postmaster, judged by its command line; null if none runs. Removes the file that a
 * killed server or the copy of a cluster in use has, because PostgreSQL would refuse to start if its process ID was reused.
 */
export async function findPostmaster(clusterDir: string): Promise<number | null> {
  const postmaster = await readPostmasterPid(clusterDir);
  if (postmaster === null) return null;
  const { pid } = postmaster;
  if (pid > 0 && (await readCommandLine(pid)).includes(` -D ${clusterDir} -p `)) return pid;
  const path = join(clusterDir, "postmaster.pid");
  const isStale = pid > 0 || (await isOld(path));
  // A server whose starter was killed can replace the file meanwhile.
  if (isStale && (await readPostmasterPid(clusterDir))?.pid === pid) await rm(path, { force: true });
  return null;
}

async function isOld(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > staleAfterMs;
}

function toNumber(line: string | undefined): number {
  const number = Number(line);
  return number > 0 ? number : 0;
}
