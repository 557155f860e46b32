/** `npm run check`: runs the checks of the source side by side. Prints the time of each, and the output of those that fail. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import pLimit from "p-limit";
import manifest from "../package.json" with { type: "json" };

/** Scripts of `package.json`, the longest first. */
const CHECKS = ["lint", "typecheck", "unused", "words", "scan", "compatibility", "format:check"] as const;
/** Each of the first two uses more than one core. */
const MAX_RUNNING = 2;

const ROOT = join(import.meta.dirname, "..");

export interface Part {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
}

/** Runs all checks and returns one part for each. */
export async function runChecks(): Promise<Part[]> {
  const limit = pLimit(MAX_RUNNING);
  return await Promise.all(CHECKS.map((name) => limit(() => runCheck(name))));
}

async function runCheck(name: (typeof CHECKS)[number]): Promise<Part> {
  const startedAtMs = performance.now();
  const bin = join(ROOT, "node_modules", ".bin");
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
  const child = spawn(manifest.scripts[name], {
    cwd: ROOT,
    env,
    shell: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  const part = { name: `npm run ${name}`, passed: code === 0, seconds: secondsSince(startedAtMs) };
  process.stdout.write(`${part.passed ? "" : stdout + stderr}${describe(part)}\n`);
  return part;
}

/** Returns whole seconds. */
export function secondsSince(startedAtMs: number): number {
  return Math.round((performance.now() - startedAtMs) / 1000);
}

/** Returns a line such as `npm run lint passed in 24 s`. */
export function describe({ name, passed, seconds }: Part): string {
  return `${name} ${passed ? "passed" : "failed"} in ${seconds} s`;
}

if (import.meta.main) {
  const parts = await runChecks();
  if (parts.some(({ passed }) => !passed)) process.exitCode = 1;
}
