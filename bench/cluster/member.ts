/** A Waymark process of the cluster, which can be stopped and started again at the same URL. */
import { get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { readLogTail, startProgram, type Program, type ProgramOptions } from "./process.ts";

export interface MemberOptions extends ProgramOptions {
  /** Such as `api-1`. */
  readonly name: string;
  readonly url: string;
}

export interface Member {
  readonly name: string;
  readonly url: string;
  readonly logFile: string;
  /** The id of the running process; 0 if none runs. */
  pid(): number;
  /** Resolves once it is ready; rejects with the end of its log if it ends instead. `env` overrides its usual settings. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves when it has ended, with its exit code or the signal's name; null if none was running. */
  stop(signal?: NodeJS.Signals): Promise<number | string | null>;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 50;

export function createMember(options: MemberOptions): Member {
  const { name, url, logFile } = options;
  let running: Program | null = null;

  return {
    name,
    url,
    logFile,
    pid: () => running?.pid ?? 0,
    async start(env = {}) {
      if (running) throw new Error(`${name} runs already`);
      const program = await startProgram({ ...options, env: { ...options.env, ...env } });
      running = program;
      const forget = program.ended.finally(() => {
        if (running === program) running = null;
      });
      forget.catch(() => undefined);
      await waitUntilReady(options, program);
    },
    async stop(signal = "SIGTERM") {
      running?.signal(signal);
      return (await running?.ended) ?? null;
    },
  };
}

async function waitUntilReady({ name, url, logFile }: MemberOptions, program: Program): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while ((await fetchReadiness(url)) !== 200) {
    if (program.hasEnded()) throw new Error(`${name} ended early:\n${await readLogTail(logFile)}`);
    if (performance.now() > deadlineMs)
      throw new Error(`${name} is not ready:\n${await readLogTail(logFile)}`);
    await pause(POLL_INTERVAL_MS);
  }
}

const RESPONSE_TIMEOUT_MS = 3_000;

/** Returns the status of /health/ready, or null without a response within the timeout. */
export async function fetchReadiness(url: string): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  // A new connection each time: a kept one would work even if the server accepts no new ones.
  const request = get(`${url}/health/ready`, { agent: false, timeout: RESPONSE_TIMEOUT_MS }, (response) => {
    response.resume();
    resolve(response.statusCode ?? null);
  });
  request.once("timeout", () => request.destroy());
  request.once("error", () => resolve(null));
  return await promise;
}
