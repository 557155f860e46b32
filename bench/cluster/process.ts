/** Starts a program in its own process group, so that Ctrl-C in the terminal does not reach it. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { projectRoot } from "./compose.ts";

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its output is appended to this file. */
  readonly logFile: string;
}

export interface Program {
  readonly pid: number;
  /** Resolves with its exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  hasEnded(): boolean;
  signal(signal: NodeJS.Signals): void;
}

const LOG_TAIL_CHARACTERS = 4_000;

export async function startProgram({ command, args, env, logFile }: ProgramOptions): Promise<Program> {
  const log = await open(logFile, "a", 0o600);
  const child = spawn(command, args, {
    cwd: projectRoot,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", log.fd, log.fd],
    detached: true,
  });
  try {
    await once(child, "spawn");
  } finally {
    await log.close();
  }
  // If this process ends without stopping the program, for example when a test run is aborted.
  const stopOnExit = (): void => void child.kill("SIGTERM");
  process.once("exit", stopOnExit);
  let hasEnded = false;
  const ended = once(child, "exit").then(([code, signal]) => {
    hasEnded = true;
    process.off("exit", stopOnExit);
    return (code ?? signal) as number | string;
  });
  return {
    pid: child.pid as number,
    ended,
    hasEnded: () => hasEnded,
    signal: (signal) => void child.kill(signal),
  };
}

/** Returns the last lines of a program's log. */
export async function readLogTail(logFile: string): Promise<string> {
  return (await readFile(logFile, "utf8")).slice(-LOG_TAIL_CHARACTERS);
}

/** Below the ephemeral ports: the system could give such a port to an outgoing connection while the server is stopped. */
const [MIN_PORT, PORT_LIMIT] = [15_000, 32_768];

/** Returns a free port for a server that is stopped and started again on it. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const port = randomInt(MIN_PORT, PORT_LIMIT);
    const server = createServer();
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
      return port;
    } catch {
      // Another process listens on it.
    } finally {
      server.close();
    }
  }
  throw new Error(`No port between ${MIN_PORT} and ${PORT_LIMIT - 1} is free`);
}
