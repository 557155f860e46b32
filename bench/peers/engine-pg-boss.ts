/** pg-boss, tuned: loops that fetch and complete batches, without the polling interval of `work`. */
import { PgBoss } from "pg-boss";
import { openDeliverer, readMessages, serveEngine, requireSetting } from "../deliveries/harness.ts";
import type { Message } from "../deliveries/protocol.ts";

const QUEUE = "deliver";
const LOOPS = 4;
const BATCH = 128;
const IDLE_MS = 50;

const deliverer = await openDeliverer();
const boss = new PgBoss({
  connectionString: requireSetting("DATABASE_URL"),
  supervise: false,
  schedule: false,
});
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE);
let isStopping = false;
let loops: Promise<unknown> = Promise.resolve();

async function loop(): Promise<void> {
  while (!isStopping) {
    const jobs = await boss.fetch<Message>(QUEUE, { batchSize: BATCH, priority: false });
    if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    else {
      await Promise.all(jobs.map(({ data }) => deliverer.deliver(data)));
      await boss.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      );
    }
  }
}

serveEngine({
  async fill(count) {
    await boss.deleteAllJobs(QUEUE);
    for await (const messages of readMessages(deliverer.pool, count))
      await boss.insert(
        QUEUE,
        messages.map((data) => ({ data })),
      );
    await deliverer.pool.query("analyze");
  },
  start() {
    isStopping = false;
    loops = Promise.all(Array.from({ length: LOOPS }, loop));
    return Promise.resolve();
  },
  async stop() {
    isStopping = true;
    await loops;
  },
});
