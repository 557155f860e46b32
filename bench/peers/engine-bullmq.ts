/** BullMQ on Redis, tuned: one worker with high concurrency, finished jobs removed. */
import { Queue, Worker } from "bullmq";
import type { RedisOptions } from "ioredis";
import { openDeliverer, readMessages, serveEngine, requireSetting } from "../deliveries/harness.ts";
import type { Message } from "../deliveries/protocol.ts";

const CONCURRENCY = 256;

const deliverer = await openDeliverer();
const connection = { path: requireSetting("REDIS_SOCKET") } satisfies RedisOptions;
const queue = new Queue<Message>("deliver", { connection, defaultJobOptions: { removeOnComplete: true } });
let worker: Worker<Message> | null = null;

serveEngine({
  async fill(count) {
    await queue.obliterate({ force: true });
    for await (const messages of readMessages(deliverer.pool, count))
      await queue.addBulk(messages.map((data) => ({ name: "deliver", data })));
  },
  async start() {
    worker = new Worker<Message>("deliver", async ({ data }) => await deliverer.deliver(data), {
      connection,
      concurrency: CONCURRENCY,
    });
    await worker.waitUntilReady();
  },
  async stop() {
    await worker?.close();
  },
});
