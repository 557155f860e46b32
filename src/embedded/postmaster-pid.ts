/** Reads `postmaster.pid`, which PostgreSQL keeps in its cluster while it runs, and tells a living one from a leftover. */
import { link, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { readIfPresent } from "./data-folder.ts";
import { readCommandLine } from "./processes.ts";
import { ignore } from "./system-errors.ts";
import { temporaryPath } from "./temporary-files.ts";

const emptyForMs = 5_000;

export interface PostmasterPid {
  readonly pid: number;
  readonly port: number;
  /** The process has finished its start and its recovery. */
  readonly ready: boolean;
  readonly text: string;
}

/** Null where there is none, or where it is still being written. */
export async function readPostmasterPid(clusterDir: string): Promise<PostmasterPid | null> {
  const text = (await readIfPresent(join(clusterDir, "postmaster.pid"))) ?? "";
  // Lines: process id, folder, start time, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!(pid > 0 && port > 0)) return null;
  return { pid, port, ready: lines[7]?.trim() === "ready", text };
}

/** Whether the process is a postmaster started on this cluster, and not another that has got its number since. */
export async function isPostmasterOf(clusterDir: string, pid: number): Promise<boolean> {
  const command = await readCommandLine(pid);
  return command.includes("postgres") && command.includes(clusterDir);
}

/**
 * PostgreSQL refuses to start while a process of its own user has the number in the leftover file, whoever that is.
 * The file is taken away only if it still says what was judged: another process may have started PostgreSQL meanwhile.
 * Where even that goes wrong, PostgreSQL's lock on shared memory keeps a second postmaster out.
 */
export async function removeLeftover(clusterDir: string, judged: PostmasterPid): Promise<void> {
  const path = join(clusterDir, "postmaster.pid");
  const aside = temporaryPath(path);
  await rename(path, aside).catch(ignore("ENOENT"));
  const text = await readIfPresent(aside);
  if (text !== null && text !== judged.text) await link(aside, path).catch(ignore("EEXIST"));
  await rm(aside, { force: true });
}

/** A power cut can leave the file without content, which PostgreSQL takes for another one's start. */
export async function removeIfEmptyForLong(clusterDir: string): Promise<void> {
  const path = join(clusterDir, "postmaster.pid");
  const { size, mtimeMs } = await stat(path).catch(() => ({ size: 1, mtimeMs: 0 }));
  if (size === 0 && Date.now() - mtimeMs > emptyForMs) await rm(path, { force: true });
}
