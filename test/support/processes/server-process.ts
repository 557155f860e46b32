/** Runs `node src/main.ts` as a process that tests can signal and kill. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inject, onTestFinished } from "vitest";
import { eventually } from "../eventually.ts";
import { freePort } from "../free-port.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { createTestMongo } from "../database/test-mongo.ts";

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/** A first start includes initdb, migrations and a mongod. */
const READY_TIMEOUT_MS = 100_000;
/** Polls compete with the starting server for the CPU. */
const READY_POLL_MS = 100;

const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Starts the server with these settings, PATH and MONGOD_BINARY only. With DATABASE_URL it also gets the required secret and
 * a database in the test run's MongoDB. It is killed at the end of the test.
 */
export async function startServerProcess(env: Record<string, string>, { cwd = root }: { cwd?: string } = {}) {
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
    /** Standard output and standard error so far. */
    output: () => output,
    /** Resolves with the exit code, or the signal's name. */
    exited,
    kill,
    /** Resolves when /health/ready returns 200. Rejects with the output if the process exits before that. */
    waitUntilReady: (): Promise<void> => {
      const exitsEarly = exited.then((code): never => {
        throw new Error(`The server has exited with ${code}:\n${output}`);
      });
      const ready = eventually(
        async () => {
          const { status } = await fetch(`${url}/health/ready`);
          if (status !== 200) throw new Error(`Not ready: ${status}\n${output}`);
        },
        { timeoutMs: READY_TIMEOUT_MS, intervalMs: READY_POLL_MS },
      );
      return Promise.race([ready, exitsEarly]);
    },
    [Symbol.asyncDispose]: async () => void (await kill("SIGTERM")),
  };
}
