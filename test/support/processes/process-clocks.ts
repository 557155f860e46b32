/** Sets the clocks of server processes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { ServerProcess } from "./server-process.ts";
import { eventually } from "../faults/change-load.ts";

export interface ProcessClocks {
  /** Environment variables of the servers whose clocks can be set. */
  readonly env: Record<string, string>;
  /** Sets the offset of the servers' clocks from the real time, and waits until it is in effect. */
  setOffset(offsetMs: number, servers: readonly ServerProcess[]): Promise<void>;
}

/** Must be called in a test, which cleans up. */
export async function openProcessClocks(): Promise<ProcessClocks> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-clock-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "shifted-by");
  const preload = new URL("fake-date-preload.ts", import.meta.url).href;
  return {
    env: { NODE_OPTIONS: `--import ${preload}`, CLOCK_OFFSET_FILE: file },
    async setOffset(offsetMs, servers) {
      await writeFile(file, String(offsetMs));
      for (const { pid } of servers) process.kill(pid, "SIGUSR2");
      await eventually(() => {
        for (const server of servers)
          expect(server.output().trimEnd().split("shifted by ").at(-1)).toMatch(
            new RegExp(`^${offsetMs}(\\n|$)`),
          );
      });
    },
  };
}
