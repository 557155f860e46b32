/** Servers whose clocks a test sets. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { ServerProcess } from "./server-process.ts";
import { eventually } from "../faults/change-load.ts";

export interface ProcessClocks {
  /** For the environment of a server whose clock is to be set. */
  readonly env: Record<string, string>;
  /** Sets the clocks of these servers to so much later than it is; 0: right again. */
  setOffset(byMs: number, servers: readonly ServerProcess[]): Promise<void>;
}

/** For one test. */
export async function openProcessClocks(): Promise<ProcessClocks> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-clock-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "shifted-by");
  const loaded = new URL("fake-date-preload.ts", import.meta.url).href;
  return {
    env: { NODE_OPTIONS: `--import ${loaded}`, CLOCK_OFFSET_FILE: file },
    async setOffset(byMs, servers) {
      await writeFile(file, String(byMs));
      for (const { pid } of servers) process.kill(pid, "SIGUSR2");
      await eventually(() => {
        for (const server of servers)
          expect(server.output().trimEnd().split("shifted by ").at(-1)).toMatch(
            new RegExp(`^${byMs}(\\n|$)`),
          );
      });
    },
  };
}
