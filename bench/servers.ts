/** Starts the benchmark's processes: Waymark, the servers that it is compared with, and the load generator. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { LoadJob, SentRequest } from "./load.ts";

export interface BenchServer extends AsyncDisposable {
  name: string;
  url: string;
  pid: number;
}

export interface LoadGenerator extends AsyncDisposable {
  pid: number;
  run(job: LoadJob): Promise<SentRequest[]>;
}

/** The Node flags of `npm start` and the image. */
export const WAYMARK_NODE_FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=100"];

const BENCH_ENVIRONMENT = {
  NODE_ENV: "production",
  MALLOC_MMAP_THRESHOLD_: "1048576",
  GRAPHILE_ENV: "production",
  PORT: "0",
  RATE_LIMITS: "off",
  LOG_LEVEL: "info",
  WAYMARK_ROLE: "api",
  // Under more load than the server can take, these benchmarks want every request answered; bench/overload measures shedding.
  LOAD_SHEDDING: "off",
};

/** Starts `NAME.ts` of this folder on the database at `url`. Its log lines go to /dev/null. */
export async function startServer(
  name: string,
  url: string,
  { env = {}, flags = [] }: { env?: Record<string, string>; flags?: readonly string[] } = {},
): Promise<BenchServer> {
  const execArgv = [...(name === "waymark" ? WAYMARK_NODE_FLAGS : []), ...flags];
  const child = startProcess(`${name}.ts`, { ...BENCH_ENVIRONMENT, ...env, DATABASE_URL: url }, execArgv);
  const message = await nextMessage<{ url: string }>(child, name);
  return { name, url: message.url, pid: child.pid as number, [Symbol.asyncDispose]: () => endProcess(child) };
}

export function startLoadGenerator(): LoadGenerator {
  const child = startProcess("load.ts");
  return {
    pid: child.pid as number,
    async run(job) {
      child.send(job);
      return await nextMessage<SentRequest[]>(child, "load");
    },
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

/** Starts a file of this folder in its own process. */
export function startProcess(
  file: string,
  env: Record<string, string> = {},
  execArgv: string[] = [],
): ChildProcess {
  return fork(join(import.meta.dirname, file), {
    env: { PATH: process.env["PATH"], ...env },
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "advanced",
  });
}

const TIMEOUT_MS = 600_000;

/** Rejects if the process ends, or sends no message within ten minutes. */
export async function nextMessage<T>(child: ChildProcess, name: string): Promise<T> {
  const received = new AbortController();
  const signal = AbortSignal.any([received.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`${name} ended early (${String(code)})`);
  });
  try {
    const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as [T];
    return message;
  } finally {
    received.abort();
    ended.catch(() => undefined);
  }
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.disconnect();
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}
