/**
 * A scheduler process, for tests that stop and kill processes. Arguments: MongoDB URL, lock lifetime in milliseconds, and
 * `hang` if handlers must never return. Prints a line of JSON per run. Stops when its standard input ends.
 */
import { once } from "node:events";
import { createLogger } from "../../src/core/logger.ts";
import { openMongo } from "../../src/core/mongo.ts";
import { createScheduler } from "../../src/scheduling/scheduler.ts";
import { taskHandler } from "../../src/scheduling/task.ts";
import { RECURRING_NAME, onceTask, recurring, shortTimes } from "./scheduler-tasks.ts";

const [url = "", lifetime = "", mode] = process.argv.slice(2);
const lockLifetimeMs = Number(lifetime);

const report = async (line: object): Promise<void> => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (mode === "hang") await new Promise<never>(() => undefined);
};

async function runUntilInputEnds(): Promise<void> {
  await using mongo = openMongo({ url });
  await using scheduler = createScheduler({ mongo, logger: createLogger("warn"), times: shortTimes });
  scheduler.start([
    taskHandler(onceTask, ({ n }) => report({ ran: onceTask.name, n }), { lockLifetimeMs }),
    recurring(100, () => report({ ran: RECURRING_NAME }), lockLifetimeMs),
  ]);
  process.stdin.resume();
  await once(process.stdin, "end");
}

await runUntilInputEnds();
// As in main.ts.
process.exit();
