/** `waymark` as a process of its own, with nothing of ours in its environment but PATH and the settings given. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";

const script = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Environment {
  [name: string]: string;
}

export interface CommandLine {
  start: (args: readonly string[], environment?: Environment) => ChildProcess;
  run: (...args: string[]) => Promise<Run>;
  /** The one document on standard output, of a command that succeeds. */
  // oxlint-disable-next-line typescript/no-explicit-any
  documentOf: (...args: string[]) => Promise<any>;
}

/** `settings` is asked at each start. */
export function commandLine(settings: () => Environment): CommandLine {
  const start: CommandLine["start"] = (args, environment = {}) =>
    spawn(process.execPath, [script, ...args], {
      env: { PATH: process.env["PATH"], ...settings(), ...environment },
    });
  const run: CommandLine["run"] = (...args) => endOf(start(args));
  return {
    start,
    run,
    async documentOf(...args) {
      const ended = await run(...args, "--json");
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      return JSON.parse(ended.stdout);
    },
  };
}

/** Feeds a process its standard input and waits for its end. */
export async function endOf(child: ChildProcess, input?: string | Uint8Array): Promise<Run> {
  if (input !== undefined) child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
