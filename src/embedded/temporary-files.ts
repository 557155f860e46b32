/** Files that exist for a moment, named so that those of killed processes can be told and removed. */
import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

const temporaryPattern = /\.of-(\d+)-[0-9a-f]+$/u;
const abandonedAfterMs = 60 * 60 * 1000;

/** A name beside `path` for what is to be renamed, linked or removed in a moment. */
export function temporaryPath(path: string): string {
  return `${path}.of-${process.pid}-${randomBytes(4).toString("hex")}`;
}

/** Removes what killed processes left half-made; what is old too, for its maker's number may be in use again. */
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
