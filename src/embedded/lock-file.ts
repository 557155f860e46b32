/** A claim on something that one process at a time may do, kept as a file; that of a killed process does not count. */
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { readIfPresent } from "./data-folder.ts";
import { isRunning } from "./processes.ts";
import { systemCode } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

/** For those whose number now belongs to another process. */
const abandonedAfterMs = 15 * 60_000;

/** Paths that a part of this process has claimed, or is about to. */
const heldPaths = new Set<string>();

/** Null where another living process, or another part of this one, has it; else what gives it back. */
export async function acquireLock(path: string): Promise<(() => Promise<void>) | null> {
  if (heldPaths.has(path)) return null;
  heldPaths.add(path);
  let isAcquired = false;
  try {
    isAcquired = await createLockFile(path);
  } finally {
    if (!isAcquired) heldPaths.delete(path);
  }
  if (!isAcquired) return null;
  return async () => {
    await rm(path, { force: true });
    heldPaths.delete(path);
  };
}

/** False where there is a claim; one that does not count is gone then. */
async function createLockFile(path: string): Promise<boolean> {
  const temporaryFile = temporaryPath(path);
  await writeFile(temporaryFile, `${process.pid} ${temporaryFile}`, { flag: "wx" });
  try {
    await link(temporaryFile, path);
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    await removeIfAbandoned(path);
    return false;
  } finally {
    await rm(temporaryFile, { force: true });
  }
}

/** Renamed before it is removed: of several that judge the same claim one gets it, and looks whether it is still that. */
async function removeIfAbandoned(path: string): Promise<void> {
  const content = await readIfPresent(path);
  if (content === null || !(await isAbandoned(path, content))) return;
  const aside = temporaryPath(path);
  try {
    await rename(path, aside);
    if ((await readFile(aside, "utf8")) !== content) await link(aside, path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "EEXIST") throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function isAbandoned(path: string, text: string): Promise<boolean> {
  const pid = Number(text.split(" ", 1)[0]);
  // No part of this process has it, or it would not be judged: after a container's restart a killed one's number can be ours.
  if (pid === process.pid) return true;
  if (!(await isRunning(pid))) return true;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > abandonedAfterMs;
}
