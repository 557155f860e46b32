/** Schedulers that share the tasks of one MongoDB database, with short intervals. */
import { MongoClient } from "mongodb";
import { onTestFinished, vi } from "vitest";
import { createLogger, type Logger } from "../../src/core/logger.ts";
import { openMongo } from "../../src/core/mongo.ts";
import { TASKS_COLLECTION } from "../../src/scheduling/task.ts";
import { Scheduler, type SchedulerDeps } from "../../src/scheduling/scheduler.ts";
import { shortTimes } from "./scheduler-tasks.ts";
import { createTestMongo } from "./database/test-mongo.ts";

export interface LogLine {
  level: string;
  msg: string;
  [name: string]: unknown;
}

/** Must be called in a test, which disposes it. */
export function openSchedulerFixture() {
  const database = createTestMongo();
  const client = new MongoClient(database.url);
  onTestFinished(async () => {
    await client.close();
    await database[Symbol.asyncDispose]();
  });
  return {
    url: database.url,
    tasks: client.db().collection(TASKS_COLLECTION),
    /** Adds a scheduler with a separate connection, like a further process. */
    addScheduler: ({
      url = database.url,
      times,
      ...parts
    }: Omit<Partial<SchedulerDeps>, "mongo"> & { url?: string } = {}) => {
      const log: LogLine[] = [];
      const mongo = openMongo({ url });
      const logger = recordingLogger(log);
      const scheduler = new Scheduler({ mongo, logger, times: { ...shortTimes, ...times }, ...parts });
      onTestFinished(async () => {
        await scheduler[Symbol.asyncDispose]();
        await mongo[Symbol.asyncDispose]();
      });
      return { scheduler, mongo, log };
    },
  };
}

/** Returns work for a task handler that does not finish until `letReturn` is called, or the test ends. */
export function createBlockedWork() {
  const { promise, resolve } = Promise.withResolvers<void>();
  // A stop would wait for it after a failure.
  onTestFinished(() => resolve());
  const work = vi.fn<() => Promise<void>>(() => promise);
  return { work, letReturn: resolve };
}

function recordingLogger(log: LogLine[]): Logger {
  return createLogger("debug", { write: (line) => void log.push(JSON.parse(line) as LogLine) });
}
