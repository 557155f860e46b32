/**
 * A database server in the data folder. The process that holds the server's lock owns it: it starts the server, restarts it if it
 * ends, and stops it. The server is a detached process, so it outlives a killed owner; the next owner stops it first.
 */
import { execFile, spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { StartupError } from "../core/errors.ts";
import { MINUTE_MS } from "../core/time.ts";
import { ignoreCode, readIfPresent, systemCode } from "./data-folder.ts";

export interface ServerProgram {
  readonly name: string;
  readonly logFile: string;
  /** How to repair a server that does not start. */
  readonly hint: string;
  /** Begins with the process ID while the server runs. */
  readonly pidFile: string;
  /** A part of the command line that only this folder's server has. */
  readonly commandLine: string;
  /** Signals that stop the server, in order, each with the time in milliseconds to wait for its effect. */
  readonly stopSignals: readonly (readonly [NodeJS.Signals, number])[];
  spawn(options: SpawnOptions): ChildProcess;
  /** Resolves once the server can be used. Rejects while it cannot; a StartupError ends the start. */
  connect(): Promise<void>;
}

const maxLogBytes = 10 * 1024 * 1024;
/** A start also fails if another program uses the port, or if processes of a killed server are still ending. */
const maxStarts = 3;
const restartPauseMs = 500;
const pollMs = 20;

export class OwnedServer implements AsyncDisposable {
  readonly #program: ServerProgram;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #child: ChildProcess | null = null;
  #restart: Promise<void> | undefined;

  private constructor(program: ServerProgram, signal: AbortSignal) {
    this.#program = program;
    this.#signal = AbortSignal.any([this.#stopping.signal, signal]);
  }

  /** Resolves once the server can be used. Call it under the server's lock. Throws StartupError, after it stopped the server. */
  static async start(program: ServerProgram, signal = new AbortController().signal): Promise<OwnedServer> {
    const server = new OwnedServer(program, signal);
    try {
      const leftover = await findServer(program);
      if (leftover !== null)
        await stop(leftover, program.stopSignals, async () => (await findServer(program)) === null);
      await server.#start(maxStarts);
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
    const child = this.#child;
    if (child?.pid === undefined || hasEnded(child)) return;
    await stop(child.pid, this.#program.stopSignals, () => hasEnded(child));
  }

  async #start(attempts: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.#signal.throwIfAborted();
      try {
        await this.#startOnce();
        return;
      } catch (error) {
        const isRunning = this.#child !== null && !hasEnded(this.#child);
        if (isRunning || this.#signal.aborted || attempt >= attempts) throw error;
      }
      await pause(restartPauseMs, undefined, { signal: this.#signal });
    }
  }

  /** Throws StartupError if the server ends or cannot be used within a minute. */
  async #startOnce(): Promise<void> {
    const { name, logFile, hint } = this.#program;
    await using log = await open(logFile, "a+", 0o600);
    if ((await log.stat()).size > maxLogBytes) await log.truncate();
    // A separate process group, so that Ctrl-C does not stop the server before the requests in flight are answered.
    const child = this.#program.spawn({ detached: true, stdio: ["ignore", log.fd, log.fd] });
    child.unref();
    this.#child = child;
    let problem = "It does not respond";
    await once(child, "spawn").catch((error: unknown) => (problem = String(error)));
    for (const deadline = performance.now() + MINUTE_MS; performance.now() < deadline; await pause(pollMs)) {
      this.#signal.throwIfAborted();
      if (hasEnded(child)) break;
      try {
        await this.#program.connect();
        if (hasEnded(child)) break;
        child.once("exit", () => {
          if (!this.#signal.aborted) this.#restart = this.#start(Infinity).catch(() => undefined);
        });
        return;
      } catch (error) {
        if (error instanceof StartupError) throw error;
        problem = String(error);
      }
    }
    if (child.pid !== undefined && hasEnded(child))
      problem = `It exited with ${child.exitCode ?? child.signalCode}`;
    throw new StartupError(`${name} did not start. ${problem}.`, hint);
  }
}

/** True also if it could not be started. */
function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** Returns the process ID of the folder's server; null if none runs. */
async function findServer({ pidFile, commandLine }: ServerProgram): Promise<number | null> {
  const pid = Number.parseInt((await readIfPresent(pidFile)) ?? "", 10);
  // An empty file may belong to a server that is starting.
  if (Number.isNaN(pid)) return null;
  if ((await readCommandLine(pid)).includes(commandLine)) return pid;
  // Of a killed server, or of a copied folder: PostgreSQL would refuse to start if its process ID was reused.
  await rm(pidFile, { force: true });
  return null;
}

/** A system user. */
export type SystemAccount = Readonly<{ uid: number; gid: number }>;

/**
 * Starts a program without our environment, which contains secrets and PG* settings. PostgreSQL refuses to run as root, so root
 * starts it as another user who keeps one capability: to bypass file permissions, because other users cannot access /root. The
 * secure bit makes access(2), which PostgreSQL calls on its own executable, honour it.
 */
export function spawnAs(
  account: SystemAccount | null,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const common = { ...options, cwd: "/", env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" } };
  if (account === null) return spawn(program, args, common);
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  const caps = ["inh", "ambient"].map((set) => `--${set}-caps=-all,+dac_override`);
  return spawn("setpriv", [...ids, "--securebits=+no_setuid_fixup", ...caps, program, ...args], common);
}

async function stop(
  pid: number,
  signals: ServerProgram["stopSignals"],
  isStopped: () => boolean | Promise<boolean>,
): Promise<void> {
  for (const [signal, timeoutMs] of signals) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      ignoreCode("ESRCH")(error);
    }
    const deadline = performance.now() + timeoutMs;
    for (; performance.now() < deadline; await pause(pollMs)) if (await isStopped()) return;
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
