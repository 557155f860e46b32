/** Agenda, set up for handlers that only poke and for processes that share the work. */
import { Agenda, type Job } from "agenda";
import type { Logger } from "../platform/logger.ts";
import { withSpan, type Tracing } from "../platform/tracing/tracing.ts";
import type { TaskRepository } from "./task-repository.ts";
import type { TaskHandler } from "./task.ts";

export interface AgendaDeps {
  readonly repository: TaskRepository;
  readonly handlers: readonly TaskHandler[];
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
  /** Of this process, and of no other: by it, its locks are known. */
  readonly processName: string;
  readonly processEveryMs: number;
  /** How often the lock of a job that runs is made to begin anew. */
  readonly extendEveryMs: number;
}

/** Jobs of one task that run once: how many are worked at, and how many are held, by this process. */
const MAX_CONCURRENCY = 20;
const MAX_LOCKED = 100;

/**
 * Agenda watches each run with a timer of half the lifetime that it believes in, and leaves it there when the run is over:
 * with 30 s, a process that has stopped would not end for 15 s. Whether a lock has run out the repository decides.
 */
const RUN_WATCH_MS = 500;

/** Begins to look for jobs. */
export async function startAgenda(deps: AgendaDeps): Promise<Agenda> {
  const { repository, handlers, logger } = deps;
  const agenda = new Agenda({
    // It connects nothing and makes no index, so that it cannot fail: Agenda would not catch it. Nor has it a channel of
    // notifications; change streams cost eight findAndModify a job with four processes.
    backend: {
      name: "MongoDB",
      repository,
      ownsConnection: false,
      connect: () => repository.connect(),
      disconnect: () => Promise.resolve(),
    },
    name: deps.processName,
    processEvery: deps.processEveryMs,
    maxConcurrency: MAX_CONCURRENCY + handlers.length,
    defaultLockLifetime: RUN_WATCH_MS * 2,
    logging: false,
  });
  agenda.on("error", (error: Error) => {
    logger.warn({ error: error.message }, "a scheduled job was broken off");
  });
  agenda.on("fail", (error: Error, { attrs: { name: task, _id: job } }: Job) => {
    logger.error({ task, job, error: error.message }, "a scheduled job failed");
  });
  for (const handler of handlers) {
    // One parameter: with two, Agenda would wait for a callback, which is the overload that the rule looks at.
    // oxlint-disable-next-line typescript/no-misused-promises
    agenda.define(handler.name, (job: Job) => runTask(handler, job, deps), {
      concurrency: handler.intervalMs === null ? MAX_CONCURRENCY : 1,
      lockLimit: handler.intervalMs === null ? MAX_LOCKED : 1,
    });
  }
  await agenda.start();
  return agenda;
}

async function runTask(
  handler: TaskHandler,
  { attrs: job }: Job,
  { repository, logger, tracing, extendEveryMs }: AgendaDeps,
): Promise<void> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - startedAt < handler.maxRunMs) {
      void repository.extendLock(job);
      return;
    }
    clearInterval(timer);
    logger.error({ task: handler.name }, "a scheduled job takes too long; another process may take it over");
    repository.abandon(job);
  }, extendEveryMs);
  try {
    await withSpan(tracing?.startTrace(`task ${handler.name}`, { kind: "internal" }), () =>
      handler.run(job.data),
    );
  } finally {
    clearInterval(timer);
  }
}
