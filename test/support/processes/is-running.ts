import { readCommandLine } from "../../../src/dev/owned-server.ts";

/** True if a process with this ID exists and is not a zombie. */
export async function isRunning(pid: number): Promise<boolean> {
  return (await readCommandLine(pid)) !== "";
}
