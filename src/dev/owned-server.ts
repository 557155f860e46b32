/**
 * A database server in the data folder. The process that holds the server's lock owns it: it starts the server, restarts it if it
 * ends, and stops it. The server is a detached process, so it outlives a killed owner; the next owner stops it first.
 */
import { execFile, type ChildProcess, type StdioOptions } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { StartupError } from "../core/errors.ts";
import { MINUTE_MS } from "../core/time.ts";
import { ignoreCode, systemCode } from "./data-folder.ts";

export interface ServerProgram {
  readonly name: string;
  readonly logFile: string;
  /** How to repair a server that does not start. */
  readonly hint: string;
  /** Signals that stop the server, in order, each with the time in milliseconds to wait for its effect. */
  readonly stopSignals: readonly (readonly [NodeJS.Signals, number])[];
  /** Returns the process ID of the folder's server; null if none runs. */
  find(): Promise<number | null>;
  spawn(options: { detached: true; stdio: StdioOptions }): ChildProcess;
  /** Resolves once the server can be used. Rejects while it cannot; a StartupError ends the start. */
  connect(): Promise<void>;
  /** Returns what a developer should see of the log of a failed start. */
  summarize(log: string): string;
}

interface Child {
  readonly pid: number | undefined;
  isReady: boolean;
  exitReason: string | null;
}

const maxLogBytes = 10 * 1024 * 1024;
/** A start also fails if another program uses the port, or if processes of a killed server are still ending. */
const maxStarts = 3;
const restartPauseMs = 500;
const pollMs = 20;

export class OwnedServer implements AsyncDisposable {
  readonly #program: ServerProgram;
  readonly #stopping = new AbortController();
  #child: Child | null = null;
  #restart: Promise<void> | undefined;

  private constructor(program: ServerProgram) {
    this.#program = program;
  }

  /** Resolves once the server can be used. Call it under the server's lock. Throws StartupError, after it stopped the server. */
  static async start(program: ServerProgram, signal?: AbortSignal): Promise<OwnedServer> {
    const server = new OwnedServer(program);
    const abort = (): void => server.#stopping.abort();
    signal?.addEventListener("abort", abort);
    try {
      signal?.throwIfAborted();
      const leftover = await program.find();
      if (leftover !== null)
        await stop(leftover, program.stopSignals, async () => (await program.find()) === null);
      await server.#start(maxStarts);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#restart;
    const child = this.#child;
    if (child?.pid === undefined || child.exitReason !== null) return;
    await stop(child.pid, this.#program.stopSignals, () => child.exitReason !== null);
  }

  async #start(attempts: number): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await this.#startOnce();
        return;
      } catch (error) {
        const isRunning = this.#child?.exitReason === null;
        if (isRunning || signal.aborted || attempt >= attempts) throw error;
      }
      await pause(restartPauseMs, undefined, { signal });
    }
  }

  /** Throws StartupError if the server ends or cannot be used within a minute. */
  async #startOnce(): Promise<void> {
    const { name, logFile, hint } = this.#program;
    await using log = await open(logFile, "a+", 0o600);
    if ((await log.stat()).size > maxLogBytes) await log.truncate();
    const { size: logStart } = await log.stat();
    const child = this.#spawn(log.fd);
    let problem = "It does not respond";
    for (const deadline = performance.now() + MINUTE_MS; performance.now() < deadline; await pause(pollMs)) {
      this.#stopping.signal.throwIfAborted();
      if (child.exitReason !== null) break;
      try {
        await this.#program.connect();
        child.isReady = child.exitReason === null;
        if (child.isReady) return;
      } catch (error) {
        if (error instanceof StartupError) throw error;
        problem = String(error);
      }
    }
    const lines = (await readFile(logFile)).subarray(logStart).toString("utf8").trim();
    throw new StartupError(
      `${name} did not start. ${child.exitReason ?? problem}.\n${this.#program.summarize(lines)}`,
      hint,
    );
  }

  #spawn(log: number): Child {
    // A separate process group, so that Ctrl-C does not stop the server before the requests in flight are answered.
    const started = this.#program.spawn({ detached: true, stdio: ["ignore", log, log] });
    started.unref();
    const child: Child = { pid: started.pid, isReady: false, exitReason: null };
    this.#child = child;
    started.once("error", (error) => (child.exitReason = String(error)));
    started.once("exit", (code, signal) => {
      child.exitReason = `It exited with ${code ?? signal}`;
      if (child.isReady && !this.#stopping.signal.aborted)
        this.#restart = this.#start(Infinity).catch(() => undefined);
    });
    return child;
  }
}

async function stop(
  pid: number,
  signals: ServerProgram["stopSignals"],
  hasEnded: () => boolean | Promise<boolean>,
): Promise<void> {
  for (const [signal, timeoutMs] of signals) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      ignoreCode("ESRCH")(error);
    }
    const deadline = performance.now() + timeoutMs;
    for (; performance.now() < deadline; await pause(pollMs)) if (await hasEnded()) return;
  }
}

/**
 * Returns the command line with spaces between arguments; empty for an ended process or a zombie. Rejects if this process lacks
 * a resource to read it: a running server must not count as ended.
 */
export async function readCommandLine(pid: number): Promise<string> {
  try {
    if (process.platform === "linux")
      return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout;
  } catch (error) {
    // The exit code of a `ps` that finds nothing is a number.
    const code = systemCode(error);
    if (code === undefined || code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}
