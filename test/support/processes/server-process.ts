/** `node src/main.ts` as a process of its own, to be started, signalled and killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inject, onTestFinished, vi } from "vitest";
import { freePort } from "../free-port.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { createTestMongo } from "../database/test-mongo.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Everything that it has printed so far, both streams. */
  output(): string;
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): Promise<number | string>;
  /** Resolves once it answers /health/ready with 200. */
  waitUntilReady(): Promise<void>;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface ServerProcessOptions {
  /** Where the program lies; this checkout unless said otherwise. */
  cwd?: string;
}

/**
 * Starts it with these settings and nothing of ours but PATH and the `mongod` that was found. With DATABASE_URL it gets a
 * secret, which that asks for, and a database in the MongoDB of the test run.
 */
export async function startServerProcess(
  env: Record<string, string>,
  { cwd = root }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const port = env["PORT"] ?? String(await freePort());
  const child = spawn(process.execPath, ["src/main.ts"], {
    cwd,
    env: {
      PATH: process.env["PATH"],
      PORT: port,
      MONGOD_BINARY: inject("mongodBinary"),
      ...(env["DATABASE_URL"] && { WAYMARK_SECRET: TEST_SECRET, MONGODB_URL: createTestMongo().url }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Also where the test fails halfway.
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
  const url = `http://127.0.0.1:${port}`;

  const kill = (signal: NodeJS.Signals): Promise<number | string> => {
    child.kill(signal);
    return exited;
  };
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output,
    exited,
    kill,
    waitUntilReady: () =>
      vi.waitFor(
        async () => {
          if (child.exitCode !== null) throw new Error(`The server ended early:\n${output}`);
          const { status } = await fetch(`${url}/health/ready`);
          if (status !== 200) throw new Error(`Not ready: ${status}\n${output}`);
        },
        { timeout: 60_000, interval: 20 },
      ),
    [Symbol.asyncDispose]: async () => void (await kill("SIGTERM")),
  };
}
