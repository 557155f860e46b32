/** One of the cluster's Waymarks: a process that is stopped and started again at the same address. */
import { setTimeout as pause } from "node:timers/promises";
import { fetchReadiness } from "./readiness.ts";
import { readLogTail, startProgram, type Program, type ProgramOptions } from "./process.ts";

export interface MemberOptions extends ProgramOptions {
  /** `api-1`. */
  readonly name: string;
  readonly url: string;
}

export interface Member {
  readonly name: string;
  readonly url: string;
  readonly logFile: string;
  /** Of the process that runs now; 0: none does. */
  pid(): number;
  /** Resolves once it is ready; rejects, with the end of what it said, where it ended instead. `env` over the usual. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves, once it has ended, with its exit code or the name of the signal; null where none runs. */
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
