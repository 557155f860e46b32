/**
 * A scheduler in a process of its own, for tests that stop and kill processes. Arguments: MongoDB's address, the lock's
 * lifetime in milliseconds, and `hang` where what it handles is never to return. It prints a line of JSON for each run, and
 * ends by itself once it is stopped by the end of its standard input.
 */
import { once } from "node:events";
import { createLogger } from "../../src/platform/logger.ts";
import { openMongo } from "../../src/platform/mongo.ts";
import { createScheduler } from "../../src/scheduling/scheduler.ts";
import { taskHandler, recurringHandler } from "../../src/scheduling/task.ts";
import { recurringTask, onceTask, shortTimes } from "./scheduler-tasks.ts";

const [url = "", lockLifetimeMs = "", mode] = process.argv.slice(2);

const report = async (line: object): Promise<void> => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (mode === "hang") await new Promise<never>(() => undefined);
};

await using mongo = openMongo({ url });
await using scheduler = createScheduler({
  mongo,
  logger: createLogger("warn"),
  times: { ...shortTimes, lockLifetimeMs: Number(lockLifetimeMs) },
});
scheduler.start([
  taskHandler(onceTask, ({ n }) => report({ ran: onceTask.name, n })),
  recurringHandler(recurringTask, 100, () => report({ ran: recurringTask.name })),
]);
process.stdin.resume();
await once(process.stdin, "end");
