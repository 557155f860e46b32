/** Starts and stops a database server as a detached process that outlives the process that started it. */
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { open, type FileHandle } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { StartupError } from "../platform/errors.ts";
import { signalIfAlive } from "./processes.ts";
import type { StartupWait } from "./startup-wait.ts";

const maxLogBytes = 10 * 1024 * 1024;
const maxExcerptBytes = 64 * 1024;
/** Signals that stop a server, in order, each with the time in milliseconds to wait for its effect. */
export type StopSignals = readonly (readonly [NodeJS.Signals, number])[];

export interface DetachedServer {
  readonly logFile: string;
  /** Progress message shown if the start takes long. */
  readonly startingMessage: string;
  /** Sent if the start is aborted. */
  readonly stopSignals: StopSignals;
  spawn(options: SpawnOptions): ChildProcess;
  isReady(pid: number): Promise<boolean>;
  /** Extracts the lines for the error message from what the server logged before it exited. */
  excerptLog(log: string): string;
}

/**
 * Resolves to null once the server is ready, or to its exit reason and log excerpt. Throws StartupError on timeout, and the
 * reason of an abort after it has stopped the server.
 */
export async function startDetached(server: DetachedServer, wait: StartupWait): Promise<string | null> {
  const log = await openLog(server.logFile);
  try {
    const before = (await log.stat()).size;
    const exitReason = await runUntilReady(server, log, wait);
    return exitReason === null
      ? null
      : `${exitReason}.\n${server.excerptLog(await readLogFrom(log, before))}`;
  } finally {
    await log.close();
  }
}

/** Sends the signals until the process is gone. */
export async function stopDetached(
  pid: number,
  signals: StopSignals,
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
    // A separate process group, so that Ctrl-C does not kill the server while other processes use it.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  child.unref();
  const exit: { reason: string | null } = { reason: null };
  child.once("error", (error) => (exit.reason = String(error)));
  child.once("exit", (code, signal) => (exit.reason = `It exited with ${code ?? signal}`));
  try {
    while (exit.reason === null) {
      if (await server.isReady(child.pid ?? 0)) break;
      await wait.pauseOrFail(server.startingMessage);
    }
  } catch (error) {
    // The last user could not stop it yet: it writes its process ID to a file only after a while.
    if (!(error instanceof StartupError) && child.pid !== undefined)
      await stopDetached(child.pid, server.stopSignals, () => Promise.resolve(exit.reason !== null));
    throw error;
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
