/** Checks other processes by process ID. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { systemCode } from "./system-errors.ts";

/** True if a process with this ID exists and is not a zombie, or if that cannot be learned now. */
export async function isRunning(pid: number): Promise<boolean> {
  return (await readCommandLine(pid).catch(() => "unknown")) !== "";
}

/** Codes of errors that say nothing about the process: no free file descriptor, process or memory. */
const exhaustedCodes: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

/**
 * Returns the command line with spaces between arguments; empty for an ended process or a zombie. Rejects if this process lacks
 * a resource to read it: the other process may be running.
 */
export async function readCommandLine(pid: number): Promise<string> {
  try {
    if (process.platform === "linux")
      return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout;
  } catch (error) {
    if (exhaustedCodes.has(systemCode(error))) throw error;
    return "";
  }
}
