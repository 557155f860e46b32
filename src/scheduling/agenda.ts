/** Configures and starts Agenda for tasks that several processes share. */
import { Agenda, type Job } from "agenda";
import type { Logger } from "../core/logger.ts";
import { withSpan, type Tracing } from "../core/tracing/tracing.ts";
import type { TaskRepository } from "./task-repository.ts";
import type { TaskHandler } from "./task.ts";

export interface AgendaDeps {
  readonly repository: TaskRepository;
  readonly handlers: readonly TaskHandler[];
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
  /** Unique per process; identifies the locks it holds. */
  readonly processName: string;
  readonly processEveryMs: number;
  /** Interval at which the lock of a running task is extended. */
  readonly extendEveryMs: number;
}

/** Limits for one-off tasks of one name in this process: running and locked. */
const MAX_CONCURRENCY = 20;
const MAX_LOCKED = 100;

/**
 * Half the lock lifetime that Agenda is given. Agenda does not clear its timer of this length after a run, so a long lifetime
 * would delay the exit of the process. The repository decides when a lock expires.
 */
const RUN_WATCH_MS = 500;

/** Starts Agenda, which polls for due tasks from then on. */
export async function startAgenda(deps: AgendaDeps): Promise<Agenda> {
  const { repository, handlers, logger } = deps;
  const agenda = new Agenda({
    // It opens no connection and creates no index, because Agenda does not catch their errors. It has no notification
    // channel: with four processes, change streams cost eight findAndModify per task.
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
    logger.warn({ error: error.message }, "a scheduled task was interrupted");
  });
  agenda.on("fail", (error: Error, { attrs: { name: task, _id: taskId } }: Job) => {
    logger.error({ task, taskId, error: error.message }, "a scheduled task failed");
  });
  for (const handler of handlers) {
    // Agenda would wait for a callback if the handler had two parameters; the lint rule checks that overload.
    // oxlint-disable-next-line typescript/no-misused-promises
    agenda.define(handler.name, (task: Job) => runTask(handler, task, deps), {
      concurrency: handler.intervalMs === null ? MAX_CONCURRENCY : 1,
      lockLimit: handler.intervalMs === null ? MAX_LOCKED : 1,
    });
  }
  await agenda.start();
  return agenda;
}

async function runTask(
  handler: TaskHandler,
  { attrs: task }: Job,
  { repository, logger, tracing, extendEveryMs }: AgendaDeps,
): Promise<void> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - startedAt < handler.maxRunMs) {
      void repository.extendLock(task);
      return;
    }
    clearInterval(timer);
    logger.error({ task: handler.name }, "a scheduled task takes too long; another process may take it over");
    repository.abandon(task);
  }, extendEveryMs);
  try {
    await withSpan(tracing?.startTrace(`task ${handler.name}`, { kind: "internal" }), () =>
      handler.run(task.data),
    );
  } finally {
    clearInterval(timer);
  }
}
