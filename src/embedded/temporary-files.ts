/** Temporary files with the process ID in their names, so that those of killed processes can be removed. */
import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

const temporaryPattern = /\.of-(\d+)-[0-9a-f]+$/u;
const abandonedAfterMs = 60 * 60 * 1000;

/** Returns a unique temporary name in the folder of `path`. */
export function temporaryPath(path: string): string {
  return `${path}.of-${process.pid}-${randomBytes(4).toString("hex")}`;
}

/** Removes temporary files of dead processes, and those over an hour old, because process IDs are reused. */
export async function removeAbandonedFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = temporaryPattern.exec(name)?.[1];
    if (pid === undefined) continue;
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (isAlive(Number(pid)) && Date.now() - mtimeMs < abandonedAfterMs) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
