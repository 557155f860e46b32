/**
 * A database server that all processes of a data folder share. Each process locks a reference file, and the last one to
 * release it stops the server. A lock serialises starting, joining and stopping.
 */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { invariant, StartupError } from "../platform/errors.ts";
import { acquireLock } from "./lock-file.ts";
import { isRunning } from "./processes.ts";
import { startWait, type StartupWait, type StartupWaitOptions } from "./startup-wait.ts";

/** One kind of server in one data folder. Its methods run under the lock. */
export interface ServerProgram {
  readonly name: string;
  /** Prefix of the files in the data folder. */
  readonly filePrefix: "postgres" | "mongo";
  /** The data folder, absolute and without symbolic links. */
  readonly dataDir: string;
  /** Returns the process ID of the folder's server; null if none runs. */
  find(): Promise<number | null>;
  /** Starts it. Also resolves after a failure that a retry may repair. Throws StartupError. */
  start(wait: StartupWait): Promise<void>;
  /** Resolves to true once it can be used; to false, after a pause, if it must be looked for again. Throws StartupError. */
  connect(wait: StartupWait): Promise<boolean>;
  /** Stops it if it runs. */
  stop(): Promise<void>;
}

export interface SharingOptions extends Omit<StartupWaitOptions, "signal"> {
  /** True for the one process that a data folder allows; false for others beside it. */
  readonly exclusive: boolean;
  /** Its abort ends the start, which then rejects with the abort's reason. */
  readonly stopping: AbortController;
}

export interface SharedServer {
  /** Releases the server, and stops it if no other process uses it. Further calls wait for the first. */
  [Symbol.asyncDispose](): Promise<void>;
}

const lockPollMs = 20;
/** How often to check that the server still runs. */
const checkIntervalMs = 1_000;
/** Short, because it is tried again after the next check, and other processes wait for the lock. */
const restartTimeoutMs = 10_000;

/** Starts or joins the server, and restarts it if it is killed. Disposal releases it. Throws StartupError. */
export async function shareServer(
  server: ServerProgram,
  { exclusive, stopping, ...options }: SharingOptions,
): Promise<SharedServer> {
  const { signal } = stopping;
  const attach = (wait: StartupWait): Promise<number> => startOrJoin(server, wait);
  const joined = await withLock(server, startWait({ ...options, signal }), async (wait) => {
    const reference = await addReference(server, exclusive);
    try {
      return { reference, pid: await attach(wait) };
    } catch (error) {
      await release(server, reference);
      throw error;
    }
  });
  const watching = keepRunning(joined.pid, signal, () =>
    withLock(server, startWait({ ...options, signal, timeoutMs: restartTimeoutMs }), attach),
  );
  const leave = async (): Promise<void> => {
    stopping.abort();
    await watching;
    await withLock(server, startWait(options), () => release(server, joined.reference));
  };
  let leaving: Promise<void> | null = null;
  return { [Symbol.asyncDispose]: () => (leaving ??= leave()) };
}

/** Runs `work` under the lock: a process that joins while another stops the server waits, then starts it again. */
async function withLock<T>(
  { name, filePrefix, dataDir }: ServerProgram,
  wait: StartupWait,
  work: (wait: StartupWait) => Promise<T>,
): Promise<T> {
  for (;;) {
    const unlock = acquireLock(join(dataDir, `${filePrefix}-start.lock`));
    if (unlock === null) {
      await wait.pauseOrFail(`Another Waymark process is starting or stopping ${name}.`, lockPollMs);
      continue;
    }
    try {
      return await work(wait);
    } finally {
      unlock();
    }
  }
}

async function startOrJoin(server: ServerProgram, wait: StartupWait): Promise<number> {
  for (;;) {
    const pid = await server.find();
    if (pid === null) await server.start(wait);
    else if (await server.connect(wait)) return pid;
  }
}

interface Reference {
  readonly path: string;
  readonly unlock: () => void;
}

/** Throws StartupError if `exclusive` and another process is. */
async function addReference(server: ServerProgram, exclusive: boolean): Promise<Reference> {
  const owner = (await listReferences(server)).find(({ isExclusive }) => isExclusive);
  if (exclusive && owner !== undefined) {
    throw new StartupError(
      `The data folder ${server.dataDir} is already in use by another Waymark server (process ${owner.pid}).`,
      "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
    );
  }
  const mode = exclusive ? "exclusive" : "shared";
  const suffix = `${mode}-${process.pid}-${randomBytes(4).toString("hex")}`;
  const path = join(server.dataDir, `${server.filePrefix}-reference-${suffix}`);
  const unlock = acquireLock(path);
  invariant(unlock !== null, "the name of a reference is unique");
  return { path, unlock };
}

/** Removes the reference, and stops the server if no other is left. */
async function release(server: ServerProgram, { path, unlock }: Reference): Promise<void> {
  unlock();
  rmSync(path, { force: true });
  if ((await listReferences(server)).length === 0) await server.stop();
}

/** Returns the references of running processes and removes the others, whose locks the operating system has released. */
async function listReferences({
  filePrefix,
  dataDir,
}: ServerProgram): Promise<{ pid: string; isExclusive: boolean }[]> {
  const pattern = new RegExp(`^${filePrefix}-reference-(exclusive|shared)-(\\d+)-[0-9a-f]{8}$`);
  const references = [];
  for (const file of await readdir(dataDir)) {
    const [, mode, pid = ""] = pattern.exec(file) ?? [];
    if (mode === undefined) continue;
    const path = join(dataDir, file);
    const unlock = acquireLock(path);
    if (unlock === null) references.push({ pid, isExclusive: mode === "exclusive" });
    else {
      unlock();
      rmSync(path, { force: true });
    }
  }
  return references;
}

/** Restarts a killed server. Ends when `stopping` aborts. */
async function keepRunning(
  initialPid: number,
  stopping: AbortSignal,
  restart: () => Promise<number>,
): Promise<void> {
  let pid = initialPid;
  while (await sleepUnlessAborted(checkIntervalMs, stopping)) {
    if (!(await isRunning(pid))) pid = await restart().catch(() => pid);
  }
}

/** Resolves to false if `stopping` aborts during the sleep. */
function sleepUnlessAborted(ms: number, stopping: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal: stopping, ref: false }).catch(() => false);
}
