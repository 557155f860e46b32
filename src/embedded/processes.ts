/** Other processes, known by their number: whether they live, what they run, and signals to them. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ignoreCode, systemCode } from "./system-errors.ts";

/** Whether a process has this number, whosever it is. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/** False for one that has ended and that its parent has not yet collected, which isAlive cannot tell. */
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

/** Linux tells it in a file, other systems through ps. Empty for a process that has ended. */
export async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === "linux") return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const listed = promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
  return listed.then(
    ({ stdout }) => stdout,
    () => "",
  );
}
