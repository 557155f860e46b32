/** Runs the `waymark` command as a process whose environment has only PATH and the given settings. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";

const CLI_ENTRY = join(import.meta.dirname, "..", "..", "..", "src", "cli", "main.ts");

export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface EnvironmentVariables {
  [name: string]: string;
}

export interface CliRunner {
  start: (args: readonly string[], environment?: EnvironmentVariables) => ChildProcess;
  run: (...args: string[]) => Promise<ProcessResult>;
  /** Runs a command with `--json`, expects success and returns the parsed output. */
  // oxlint-disable-next-line typescript/no-explicit-any
  runJson: (...args: string[]) => Promise<any>;
}

/** `settings` is called at each start. */
export function createCliRunner(settings: () => EnvironmentVariables): CliRunner {
  const start: CliRunner["start"] = (args, environment = {}) =>
    spawn(process.execPath, [CLI_ENTRY, ...args], {
      env: { PATH: process.env["PATH"], ...settings(), ...environment },
    });
  const run: CliRunner["run"] = (...args) => waitForExit(start(args));
  return {
    start,
    run,
    async runJson(...args) {
      const result = await run(...args, "--json");
      expect(result).toMatchObject({ code: 0, stderr: "" });
      return JSON.parse(result.stdout);
    },
  };
}

/** Writes `input` to the process's standard input and waits for its exit. */
export async function waitForExit(child: ChildProcess, input?: string | Uint8Array): Promise<ProcessResult> {
  if (input !== undefined) child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
