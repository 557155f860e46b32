/** Locks between processes, kept as files. The lock of a killed process expires. */
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { readIfPresent } from "./data-folder.ts";
import { isRunning } from "./processes.ts";
import { systemCode } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

/** Age at which a lock expires even if its process ID is in use, because another process may have the ID now. */
const abandonedAfterMs = 15 * 60_000;

/** Paths that this process has locked or is about to lock. */
const heldPaths = new Set<string>();

/** Tries once. Returns the release function, or null if a running process, including this one, holds the lock. */
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

/** Returns false if the file exists; an abandoned file is removed, so that the next attempt succeeds. */
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

/** Renames the file before removing it, so that two processes cannot remove a new lock instead of the abandoned one. */
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
  // `heldPaths` excludes our own locks. After a container restart, a killed process can have had our ID.
  if (pid === process.pid) return true;
  if (!(await isRunning(pid))) return true;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > abandonedAfterMs;
}
