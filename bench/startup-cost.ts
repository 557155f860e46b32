/** Measures a start of `node src/main.ts` on an existing data folder, up to the first response, databases included. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { dataFolder } from "./environment.ts";
import { processTreeCpuUs } from "./process-usage.ts";
import { medianOf } from "./statistics.ts";

export interface StartupCost {
  /** CPU seconds of all started processes. */
  cpuS: number;
  wallS: number;
}

const RUNS = 5;
const ADDRESS = /http:\/\/[\d.]+:\d+/;

/** Returns the median of five starts, after one start that creates the folder and the demo. */
export async function measureStartup(): Promise<StartupCost> {
  const dataDir = join(dataFolder, "start");
  await rm(dataDir, { recursive: true, force: true });
  await measureOneStart(dataDir);
  const costs: StartupCost[] = [];
  for (let at = 0; at < RUNS; at += 1) costs.push(await measureOneStart(dataDir));
  return medianOf<keyof StartupCost>(costs);
}

async function measureOneStart(dataDir: string): Promise<StartupCost> {
  const startedMs = performance.now();
  await using product = await startProduct(dataDir);
  const cpuS = processTreeCpuUs(product.pid) / 1e6;
  return { cpuS, wallS: (performance.now() - startedMs) / 1000 };
}

/** Starts `node src/main.ts` with its databases in `dataDir`, until it is ready. Disposing stops it. */
export async function startProduct(dataDir: string): Promise<{ pid: number } & AsyncDisposable> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../src/main.ts")], {
    env: { PATH: process.env["PATH"], WAYMARK_DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = async (): Promise<void> => {
    const ended = child.exitCode === null ? once(child, "exit") : null;
    child.kill("SIGTERM");
    await ended;
  };
  try {
    const { status } = await fetch(`${await readListenUrl(child)}/health/ready`);
    if (status !== 200) throw new Error(`Waymark answered ${status} after its start`);
    return { pid: child.pid as number, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reads the URL from the start banner. */
async function readListenUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const address = ADDRESS.exec(line)?.[0];
    if (address !== undefined) {
      child.stdout?.resume();
      return address;
    }
  }
  throw new Error("Waymark ended before it printed its URL");
}
