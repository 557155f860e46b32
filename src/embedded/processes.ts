/** Checks and signals other processes by process ID. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ignoreCode, systemCode } from "./system-errors.ts";

/** True if a process with this ID exists, owned by any user. Also true for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/** True if a process with this ID exists and is not a zombie, or if that cannot be learned now. */
export async function isRunning(pid: number): Promise<boolean> {
  return isAlive(pid) && (await readCommandLine(pid).catch(() => "unknown")) !== "";
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    ignoreCode("ESRCH")(error);
  }
}

/** Codes of errors that say nothing about the process: no free file descriptor, process or memory. */
const exhaustedCodes: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

/**
 * Returns the command line with spaces between arguments; empty for an ended process or a zombie. Rejects if this process lacks
 * a resource to read it: the other process may be running.
 */
export async function readCommandLine(pid: number): Promise<string> {
  try {
    if (process.platform === "linux") {
      const text = await readFile(`/proc/${pid}/cmdline`, "utf8");
      return text.replaceAll("\0", " ");
    }
    const { stdout } = await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return stdout;
  } catch (error) {
    if (exhaustedCodes.has(systemCode(error))) throw error;
    return "";
  }
}
