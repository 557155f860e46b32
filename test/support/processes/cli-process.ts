/** Runs the `waymark` command, in the test's process or in its own, with the given settings only. */
import { spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { runCommandLine } from "../../../src/cli/program.ts";

const CLI_ENTRY = join(import.meta.dirname, "..", "..", "..", "src", "cli", "main.ts");
const MAX_REPORTED_LENGTH = 2_000;

export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface EnvironmentVariables {
  [name: string]: string;
}

/** A command that runs in the test's process. */
export interface CliRun {
  readonly stdin: PassThrough;
  /** Standard output so far. */
  readonly stdout: () => string;
  /** Standard error so far. */
  readonly stderr: () => string;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly ended: Promise<ProcessResult>;
}

export interface CliRunner {
  /** Starts a command in its own process. */
  start: (args: readonly string[], environment?: EnvironmentVariables) => ChildProcess;
  /** Begins a command in the test's process. */
  begin: (args: readonly string[], environment?: EnvironmentVariables) => CliRun;
  /** Runs a command in the test's process. */
  run: (...args: string[]) => Promise<ProcessResult>;
  /** Runs a command with this standard input. */
  runWithInput: (input: string, ...args: string[]) => Promise<ProcessResult>;
  /** Runs a command with `--json`, expects success and returns the parsed output. */
  // oxlint-disable-next-line typescript/no-explicit-any
  runJson: (...args: string[]) => Promise<any>;
}

/** `settings` is called at each start. */
export function createCliRunner(settings: () => EnvironmentVariables): CliRunner {
  const begin: CliRunner["begin"] = (args, environment = {}) =>
    beginCommand(args, { ...settings(), ...environment });
  const run: CliRunner["run"] = (...args) => begin(args).ended;
  return {
    start: (args, environment = {}) =>
      spawn(process.execPath, [CLI_ENTRY, ...args], {
        env: { PATH: process.env["PATH"], ...settings(), ...environment },
      }),
    begin,
    run,
    runWithInput(input, ...args) {
      const { stdin, ended } = begin(args);
      stdin.end(input);
      return ended;
    },
    async runJson(...args) {
      const result = await run(...args, "--json");
      expect(result).toMatchObject({ code: 0, stderr: "" });
      return JSON.parse(result.stdout);
    },
  };
}

function beginCommand(args: readonly string[], env: EnvironmentVariables): CliRun {
  const [stdout, stderr] = [collectText(), collectText()];
  const stdin = new PassThrough();
  const host = new EventEmitter();
  const streams = { stdin, stdout: stdout.stream, stderr: stderr.stream };
  const code = runCommandLine(args, Object.assign(host, { ...streams, env }));
  return {
    stdin,
    stdout: stdout.text,
    stderr: stderr.text,
    signal: (name) => expect(host.emit(name), `${args.join(" ")} handles no ${name}`).toBe(true),
    ended: code.then((ended) => ({ code: ended, stdout: stdout.text(), stderr: stderr.text() })),
  };
}

function collectText(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

/** Returns the JSON on standard output. Throws if the exit code is not the expected one. */
// oxlint-disable-next-line typescript/no-explicit-any
export function parseOutput({ code, stdout, stderr }: ProcessResult, expectedCode: number): any {
  if (code !== expectedCode)
    throw new Error(`Exit code ${code} instead of ${expectedCode}:\n${stderr.slice(-MAX_REPORTED_LENGTH)}`);
  return JSON.parse(stdout);
}

/**
 * Writes `input` to the process's standard input and waits for its exit. Rejects if a signal ended it that was not sent with
 * `child.kill`, for example because it had not enough memory.
 */
export async function waitForExit(child: ChildProcess, input?: string | Uint8Array): Promise<ProcessResult> {
  // A process that ends without reading all input breaks the pipe. Its exit code and standard error say why it ended.
  child.stdin?.on("error", () => undefined);
  if (input !== undefined) child.stdin?.end(input);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close") as Promise<[number | null, string | null]>,
  ]);
  if (signal !== null && !child.killed)
    throw new Error(`The process was ended by ${signal}:\n${stderr.slice(-MAX_REPORTED_LENGTH)}`);
  return { code, stdout, stderr };
}
