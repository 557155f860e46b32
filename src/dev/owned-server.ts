/**
 * A database server in the data folder. The process that holds the server's lock owns it: it starts the server, restarts it if it
 * ends, and stops it. The server is a detached process, so it outlives a killed owner; the next owner adopts it.
 */
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { spawnAs, type RunAs } from "./account.ts";
import { isRunning } from "./processes.ts";
import { retry, type RetryOptions } from "./retry.ts";
import { ignoreCode } from "./system-errors.ts";

export interface ServerProgram {
  readonly logFile: string;
  /** Signals that stop the server, in order, each with the time in milliseconds to wait for its effect. */
  readonly stopSignals: readonly (readonly [NodeJS.Signals, number])[];
  /** Returns the process ID of the folder's server; null if none runs. */
  find(): Promise<number | null>;
  command(): Promise<{ runAs: RunAs; program: string; args: readonly string[] }>;
  /** Resolves once the server can be used. Throws NotYet or StartupError. */
  connect(): Promise<void>;
  /** Returns the error for a server that exited while starting: NotYet if another start may succeed, otherwise StartupError. */
  explainExit(reason: string, log: string): Error;
}

interface Child {
  readonly pid: number | undefined;
  /** The size of the log before the start. */
  readonly logStart: number;
  isReady: boolean;
  exitReason: string | null;
}

const maxLogBytes = 10 * 1024 * 1024;
const maxExcerptBytes = 64 * 1024;
const restartPauseMs = 1_000;
const stopPollMs = 10;

export class OwnedServer implements AsyncDisposable {
  readonly #program: ServerProgram;
  readonly #options: RetryOptions;
  readonly #stopping = new AbortController();
  /** Null: not started, ended, or adopted from a killed owner. */
  #child: Child | null = null;
  #restart: Promise<void> | undefined;

  private constructor(program: ServerProgram, options: RetryOptions) {
    this.#program = program;
    this.#options = options;
  }

  /** Resolves once the server can be used. Call it under the server's lock. Throws StartupError, after it stopped the server. */
  static async start(program: ServerProgram, options: RetryOptions): Promise<OwnedServer> {
    const server = new OwnedServer(program, options);
    try {
      await retry(() => server.#attempt(), options);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#restart;
    // A server that has just been started may not have written its process ID to a file.
    const startedPid = this.#child?.exitReason === null ? this.#child.pid : undefined;
    const pid = startedPid ?? (await this.#program.find());
    if (pid !== null) await stopProcess(pid, this.#program.stopSignals);
  }

  async #attempt(): Promise<void> {
    if (this.#child === null && (await this.#program.find()) === null) this.#child = await this.#spawn();
    const child = this.#child;
    if (child === null || child.exitReason === null) await this.#program.connect();
    if (child === null) return;
    if (child.exitReason !== null) {
      this.#child = null;
      throw this.#program.explainExit(child.exitReason, await readEnd(this.#program.logFile, child.logStart));
    }
    child.isReady = true;
  }

  async #spawn(): Promise<Child> {
    const { runAs, program, args } = await this.#program.command();
    await using log = await open(this.#program.logFile, "a+", 0o600);
    if ((await log.stat()).size > maxLogBytes) await log.truncate();
    const { size: logStart } = await log.stat();
    const started = spawnAs(runAs, program, args, {
      // A separate process group, so that Ctrl-C does not stop the server before the requests in flight are answered.
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    started.unref();
    const child: Child = { pid: started.pid, logStart, isReady: false, exitReason: null };
    const onExit = (reason: string): void => {
      child.exitReason = reason;
      if (!child.isReady || this.#stopping.signal.aborted) return;
      this.#child = null;
      this.#restart = this.#startAgain();
    };
    started.once("error", (error) => onExit(String(error)));
    started.once("exit", (code, signal) => onExit(`It exited with ${code ?? signal}`));
    return child;
  }

  /** Tries until it succeeds or the server is stopped. */
  async #startAgain(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await retry(() => this.#attempt(), { ...this.#options, signal });
        return;
      } catch {
        await pause(restartPauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

async function stopProcess(pid: number, signals: ServerProgram["stopSignals"]): Promise<void> {
  for (const [signal, timeoutMs] of signals) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      ignoreCode("ESRCH")(error);
    }
    for (
      const deadline = performance.now() + timeoutMs;
      performance.now() < deadline;
      await pause(stopPollMs)
    )
      if (!(await isRunning(pid))) return;
  }
}

/** Returns the end of the file, at most 64 KB of what follows `start`. */
async function readEnd(path: string, start: number): Promise<string> {
  await using file = await open(path);
  const position = Math.max(start, (await file.stat()).size - maxExcerptBytes);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxExcerptBytes), position });
  return buffer.toString("utf8", 0, bytesRead).trim();
}
