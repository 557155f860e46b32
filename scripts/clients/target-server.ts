/** The Waymark server that the generated clients call. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../test/support/free-port.ts";

export interface TargetServer extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
}

const START_TIMEOUT_MS = 120_000;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the server at `CLIENTS_URL` with `CLIENTS_KEY`, or starts one with its demo and data in `folder`. */
export async function openTargetServer(folder: string): Promise<TargetServer> {
  const { CLIENTS_URL: url, CLIENTS_KEY: key } = process.env;
  if (url !== undefined && key !== undefined)
    return { url, key, [Symbol.asyncDispose]: () => Promise.resolve() };
  return await startTargetServer(folder);
}

async function startTargetServer(folder: string): Promise<TargetServer> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const settings = { PORT: port, PUBLIC_URL: url, WAYMARK_DATA_DIR: folder, RATE_LIMITS: "off" };
  const child = spawn(process.execPath, ["src/main.ts"], {
    cwd: root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...settings },
    stdio: "ignore",
  });
  const ended = once(child, "close");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const key = await readDemoKey(folder, url);
    if (key !== null) return { url, key, [Symbol.asyncDispose]: stop };
    await wait(500);
  }
  await stop();
  throw new Error("The server did not start");
}

/** Returns null until the server responds. */
async function readDemoKey(folder: string, url: string): Promise<string | null> {
  try {
    const { agent } = JSON.parse(await readFile(join(folder, "demo-keys.json"), "utf8")) as { agent: string };
    const { ok } = await fetch(`${url}/v1/jobs?page_size=1`, { headers: { "x-api-key": agent } });
    return ok ? agent : null;
  } catch {
    return null;
  }
}
