/** A claim on something that one process at a time may do, kept as a file; that of a killed process does not count. */
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { readIfPresent } from "./data-folder.ts";
import { isRunning } from "./processes.ts";
import { systemCode } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

/** For those whose number now belongs to another process. */
const abandonedAfterMs = 15 * 60_000;

/** Those of this process: after a container's restart the number in a killed process's claim can be our own. */
const held = new Set<string>();

/** Null where another living process, or another part of this one, has it; else what gives it back. */
export async function takeClaim(path: string): Promise<(() => Promise<void>) | null> {
  const draft = temporaryPath(path);
  const text = `${process.pid} ${draft}`;
  await writeFile(draft, text, { flag: "wx" });
  try {
    await link(draft, path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    await removeIfAbandoned(path);
    return null;
  } finally {
    await rm(draft, { force: true });
  }
  held.add(text);
  return async () => {
    held.delete(text);
    await rm(path, { force: true });
  };
}

/** Renamed before it is removed: of several that judge the same claim one gets it, and looks whether it is still that. */
async function removeIfAbandoned(path: string): Promise<void> {
  const judged = await readIfPresent(path);
  if (judged === null || !(await isAbandoned(path, judged))) return;
  const aside = temporaryPath(path);
  try {
    await rename(path, aside);
    if ((await readFile(aside, "utf8")) !== judged) await link(aside, path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "EEXIST") throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function isAbandoned(path: string, text: string): Promise<boolean> {
  const pid = Number(text.split(" ", 1)[0]);
  if (pid === process.pid) return !held.has(text);
  if (!(await isRunning(pid))) return true;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > abandonedAfterMs;
}
