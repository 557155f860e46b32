/** Schedulers that share the jobs of one database, with times short enough for a test. */
import { MongoClient, type Collection } from "mongodb";
import { onTestFinished, vi } from "vitest";
import { createLogger, type Logger } from "../../src/platform/logger.ts";
import { openMongo, type Mongo } from "../../src/platform/mongo.ts";
import { TASKS_COLLECTION } from "../../src/scheduling/task-document.ts";
import { createScheduler, type Scheduler, type SchedulerDeps } from "../../src/scheduling/scheduler.ts";
import { shortTimes } from "./scheduler-tasks.ts";
import { createTestMongo } from "./database/test-mongo.ts";

export interface LogLine {
  level: string;
  msg: string;
  [name: string]: unknown;
}

export interface TestScheduler {
  readonly scheduler: Scheduler;
  readonly mongo: Mongo;
  readonly log: LogLine[];
}

export interface SchedulerFixture {
  readonly url: string;
  readonly tasks: Collection;
  /** One more process, as it were: a scheduler on a connection of its own. */
  readonly addScheduler: (parts?: Omit<Partial<SchedulerDeps>, "mongo"> & { url?: string }) => TestScheduler;
}

/** For one test. */
export function openSchedulerFixture(): SchedulerFixture {
  const database = createTestMongo();
  const client = new MongoClient(database.url);
  onTestFinished(async () => {
    await client.close();
    await database[Symbol.asyncDispose]();
  });
  return {
    url: database.url,
    tasks: client.db().collection(TASKS_COLLECTION),
    addScheduler({ url = database.url, times, ...parts } = {}) {
      const log: LogLine[] = [];
      const mongo = openMongo({ url });
      const logger = recordingLogger(log);
      const scheduler = createScheduler({ mongo, logger, times: { ...shortTimes, ...times }, ...parts });
      onTestFinished(async () => {
        await scheduler[Symbol.asyncDispose]();
        await mongo[Symbol.asyncDispose]();
      });
      return { scheduler, mongo, log };
    },
  };
}

/** Waits for as long as the test may take. */
export function eventually<T>(poll: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(poll, { timeout: 25_000, interval: 10 });
}

/** A handler's work that stays under way until it is told to return. */
export function createBlockedWork() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = vi.fn<() => Promise<void>>(() => promise);
  return { work, letReturn: resolve };
}

function recordingLogger(log: LogLine[]): Logger {
  return createLogger("debug", { write: (line) => void log.push(JSON.parse(line) as LogLine) });
}
