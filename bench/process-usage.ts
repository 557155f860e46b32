/** CPU time and memory of processes, from Linux's /proc. On other systems the figures are missing. */
import { readdirSync, readFileSync } from "node:fs";

const isLinux = process.platform === "linux";
const US_PER_TICK = 10_000;

/** Returns the CPU microseconds used by the live threads of `pid`. */
export function processCpuUs(pid: number): number {
  if (!isLinux) return Number.NaN;
  return list(`/proc/${pid}/task`).reduce(
    (sum, thread) => sum + Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]) / 1000,
    0,
  );
}

/** Returns the CPU microseconds of `pid` and its children, ended ones included, such as PostgreSQL with its backends. */
export function processTreeCpuUs(pid: number): number {
  const waitedFor = readStat(pid)
    .slice(13, 15)
    .reduce((sum, ticks) => sum + Number(ticks) * US_PER_TICK, 0);
  return (
    processCpuUs(pid) +
    waitedFor +
    childProcesses(pid).reduce((sum, child) => sum + processTreeCpuUs(child), 0)
  );
}

/** Returns the peak resident memory of `pid` in MB. */
export function peakMemoryMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1]) / 1024;
}

function childProcesses(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
}

/** Returns the fields after the process name: state, parent, …; the children's user and system ticks are the 14th and 15th. */
function readStat(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Returns "" if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
