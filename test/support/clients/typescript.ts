/** The package of the TypeScript client, and its requests with the waits between them. */
import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import manifest from "../../../package.json" with { type: "json" };
import { Waymark } from "../../../clients/typescript/src/index.ts";
import { buildTypescriptClient } from "../../../src/sdk/build-typescript.ts";
import type { ClientReport, ClientTask } from "./changes-through-proxy.ts";

export const CLIENT_FOLDER = join(import.meta.dirname, "..", "..", "..", "clients", "typescript");

/** Returns the paths of the client's modules below `src`. */
export async function clientModules(): Promise<string[]> {
  const paths = await readdir(join(CLIENT_FOLDER, "src"), { recursive: true });
  return paths.filter((path) => path.endsWith(".ts")).toSorted();
}

/** Installs the package in a folder for programs, as npm does. Disposing deletes the folder. */
export async function installTypescriptClient(): Promise<
  AsyncDisposable & { folder: string; installed: string }
> {
  const temporary = await mkdtempDisposable(join(tmpdir(), "waymark-package-"));
  const folder = temporary.path;
  const installed = join(folder, "node_modules", "@waymark", "client");
  await mkdir(installed, { recursive: true });
  await writeFile(join(folder, "client.tgz"), await buildTypescriptClient(manifest.version));
  const args = ["-xzf", join(folder, "client.tgz"), "--strip-components=1"];
  await promisify(execFile)("tar", args, { cwd: installed });
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  return { folder, installed, [Symbol.asyncDispose]: () => temporary.remove() };
}

const CONCURRENCY = 40;
/** Real waits are shorter than those that the client asks for, so that a test takes minutes and not hours. */
const MAX_REAL_WAIT_MS = 250;

/** Makes the changes of `task` and returns the waits of the client. */
export async function changeThroughProxy(task: ClientTask): Promise<ClientReport> {
  const waits: [number, number][] = [];
  // Ties a wait to the response before it in the same call.
  const call = new AsyncLocalStorage<{ retryAfterS: number }>();
  /** The part of the waits that was not waited. */
  let skippedMs = 0;
  const now = (): number => performance.now() + skippedMs;
  const waymark = new Waymark({
    apiKey: task.key,
    baseUrl: task.baseUrl,
    timeoutMs: task.timeoutMs,
    // A busy machine can take longer than the timeout many times.
    maxRetries: 100,
    maxConcurrentRequests: CONCURRENCY,
    now,
    async fetch(...request) {
      const current = call.getStore();
      if (current) current.retryAfterS = 0;
      const response = await fetch(...request);
      if (current) current.retryAfterS = Number(response.headers.get("retry-after") ?? 0);
      return response;
    },
    async sleep(ms) {
      const current = call.getStore();
      waits.push([current?.retryAfterS ?? 0, ms / 1_000]);
      // A further wait of the call is for the answers of others.
      if (current) current.retryAfterS = 0;
      const untilMs = now() + ms;
      await wait(Math.min(ms, MAX_REAL_WAIT_MS));
      skippedMs += Math.max(0, untilMs - now());
    },
  });
  const { markingNumbers, changes } = task;
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < changes) {
      const change = (next += 1);
      const number = markingNumbers[change % markingNumbers.length] ?? "";
      await call.run({ retryAfterS: 0 }, async () => {
        await waymark.jobs.update(number, { weight: change });
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return { waits };
}

export interface ListWhileChanging {
  /** Marking Numbers in the order of the list. */
  listed: string[];
  /** Changes made while the list was read. */
  changed: number;
}

/** Lists all jobs while other requests change jobs at both ends of the list. */
export async function listWhileChanging(
  { baseUrl, key }: Pick<ClientTask, "baseUrl" | "key">,
  markingNumbers: readonly string[],
): Promise<ListWhileChanging> {
  const waymark = new Waymark({ apiKey: key, baseUrl });
  let changed = 0;
  const changeSome = async (round: number): Promise<void> => {
    const numbers = Array.from({ length: 25 }, (_, index) => {
      const position = (round * 25 + index) % markingNumbers.length;
      return markingNumbers.at(index % 2 === 0 ? position : -position) ?? "";
    });
    const items = numbers.map((number) => ({ marking_number: number, weight: changed + Math.random() }));
    for await (const { success } of waymark.jobs.updateMany(items)) changed += Number(success);
  };
  const listed: string[] = [];
  for await (const { marking_number: number } of waymark.jobs.list()) {
    listed.push(number);
    // Before the next page is read.
    if (listed.length % 100 === 1) await changeSome(listed.length / 100);
  }
  return { listed, changed };
}
