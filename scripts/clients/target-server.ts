/** The Waymark server that the generated clients call. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { scopes } from "../../src/api-keys/api.ts";
import { freePort } from "../../test/support/free-port.ts";

export interface TargetServer extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
  readonly testKey: string;
}

const START_TIMEOUT_MS = 120_000;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the server at `CLIENTS_URL` with `CLIENTS_KEY` and `CLIENTS_TEST_KEY`, or starts one with its demo and data in `folder`. */
export async function openTargetServer(folder: string): Promise<TargetServer> {
  const { CLIENTS_URL: url, CLIENTS_KEY: key, CLIENTS_TEST_KEY: testKey } = process.env;
  if (url !== undefined && key !== undefined && testKey !== undefined)
    return { url, key, testKey, [Symbol.asyncDispose]: () => Promise.resolve() };
  return await startTargetServer(folder);
}

async function startTargetServer(folder: string): Promise<TargetServer> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const settings = { PORT: port, WAYMARK_DATA_DIR: folder, RATE_LIMITS: "off" };
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...settings };
  // In a process group of its own: Ctrl-C would reach it too, and a second signal ends it before its databases.
  const child = spawn(process.execPath, ["src/main.ts"], { cwd: root, env, stdio: "ignore", detached: true });
  const ended = once(child, "close");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await isReady(url))) {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("The server did not start");
      await wait(500);
    }
    const [key, testKey] = [await createKey(env), await createKey(env, "--test")];
    return { url, key, testKey, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Creates a key with all scopes for the organisation of the demo that has most jobs. */
async function createKey(env: NodeJS.ProcessEnv, ...more: string[]): Promise<string> {
  const options = ["--org", "Northwind Agency", "--scopes", scopes.join(","), "--json", ...more];
  const args = ["src/cli/main.ts", "key", "create", ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
  return (JSON.parse(stdout) as { key: string }).key;
}
