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

/** True if a process with this ID exists and is not a zombie. */
export async function isRunning(pid: number): Promise<boolean> {
  return isAlive(pid) && (await readCommandLine(pid)) !== "";
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    ignoreCode("ESRCH")(error);
  }
}

/** Returns the command line, from /proc on Linux and from ps elsewhere; empty for an ended process or a zombie. */
export async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === "linux") return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const result = promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
  return result.then(
    ({ stdout }) => stdout,
    () => "",
  );
}
