/** How much a start costs: `node src/main.ts` on a data folder that exists, to its first answer, databases included. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cpuOfTree } from "./cpu.ts";

export interface StartCost {
  /** Seconds of all processes that the start began. */
  cpuS: number;
  wallS: number;
}

const STARTS = 5;
const ADDRESS = /http:\/\/[\d.]+:\d+/;

/** The median of some starts; the first, which makes the folder and its demo, is not among them. */
export async function measureStarts(folder: string): Promise<StartCost> {
  const dataDir = join(folder, "start");
  await rm(dataDir, { recursive: true, force: true });
  await startOnce(dataDir);
  const costs: StartCost[] = [];
  for (let at = 0; at < STARTS; at += 1) costs.push(await startOnce(dataDir));
  return costs.toSorted((a, b) => a.cpuS - b.cpuS)[Math.floor(STARTS / 2)] as StartCost;
}

async function startOnce(dataDir: string): Promise<StartCost> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, "../src/main.ts")], {
    env: { PATH: process.env["PATH"], WAYMARK_DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const response = await fetch(`${await addressOf(child)}/health/ready`);
    const cost = {
      cpuS: cpuOfTree(child.pid as number) / 1e6,
      wallS: (performance.now() - startedMs) / 1000,
    };
    if (response.status !== 200) throw new Error(`Waymark answered ${response.status} when it had started`);
    return cost;
  } finally {
    const ended = child.exitCode === null ? once(child, "exit") : null;
    child.kill("SIGTERM");
    await ended;
  }
}

/** From the lines that a person would read. */
async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const address = ADDRESS.exec(line)?.[0];
    if (address !== undefined) {
      child.stdout?.resume();
      return address;
    }
  }
  throw new Error("Waymark ended before it answered");
}
