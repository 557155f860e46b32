/** A database server as a process of its own, which outlives the one that starts it: its start, its log, its end. */
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { open, type FileHandle } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { signalIfAlive } from "./processes.ts";
import type { StartupWait } from "./startup-wait.ts";

const maxLogBytes = 10 * 1024 * 1024;
const maxExcerptBytes = 64 * 1024;

export interface DetachedServer {
  readonly logFile: string;
  /** A sentence for the person who waits. */
  readonly startingMessage: string;
  spawn(options: SpawnOptions): ChildProcess;
  isReady(pid: number): Promise<boolean>;
  /** What the person should read of what it logged before it ended. */
  excerptLog(log: string): string;
}

/** Null once it is ready; else how it ended and what it said. */
export async function startDetached(server: DetachedServer, wait: StartupWait): Promise<string | null> {
  const log = await openLog(server.logFile);
  try {
    const before = (await log.stat()).size;
    const end = await runUntilReady(server, log, wait);
    return end === null ? null : `${end}.\n${server.excerptLog(await readLogFrom(log, before))}`;
  } finally {
    await log.close();
  }
}

/** Sends one signal after the other, each with its patience, until it is gone. */
export async function stopDetached(
  pid: number,
  signals: readonly (readonly [NodeJS.Signals, number])[],
  isGone: () => Promise<boolean>,
): Promise<void> {
  for (const [signal, timeoutMs] of signals) {
    signalIfAlive(pid, signal);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      if (await isGone()) return;
      await pause(10);
    }
  }
}

async function runUntilReady(
  server: DetachedServer,
  log: FileHandle,
  wait: StartupWait,
): Promise<string | null> {
  const child = server.spawn({
    // Its own session and process group: Ctrl-C in the terminal is for us, and we stop it when nobody uses it.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  child.unref();
  const exit: { reason: string | null } = { reason: null };
  child.once("error", (error) => (exit.reason = String(error)));
  child.once("exit", (code, signal) => (exit.reason = `It ended with ${code ?? signal}`));
  while (exit.reason === null) {
    if (await server.isReady(child.pid ?? 0)) break;
    await wait.pauseOrFail(server.startingMessage);
  }
  return exit.reason;
}

async function openLog(path: string): Promise<FileHandle> {
  const log = await open(path, "a+", 0o600);
  if ((await log.stat()).size > maxLogBytes) await log.truncate();
  return log;
}

async function readLogFrom(log: FileHandle, start: number): Promise<string> {
  const position = Math.max(start, (await log.stat()).size - maxExcerptBytes);
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(maxExcerptBytes), position });
  return buffer.toString("utf8", 0, bytesRead).trim();
}
