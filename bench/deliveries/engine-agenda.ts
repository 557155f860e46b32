/** Agenda with one task per delivery, tuned: frequent polls, high concurrency, a usable index, finished tasks removed. */
import { MongoBackend } from "@agendajs/mongo-backend";
import { Agenda, type Job } from "agenda";
import { MongoClient } from "mongodb";
import { taskDocument } from "../../src/scheduling/task.ts";
import { openDeliverer, readMessages, serveEngine, requireSetting } from "./harness.ts";
import type { Message } from "./protocol.ts";

const COLLECTION = "bench_jobs";
const CONCURRENCY = 256;

const deliverer = await openDeliverer();
const mongo = await new MongoClient(requireSetting("MONGODB_URL")).connect();
const jobs = mongo.db().collection(COLLECTION);
await jobs.createIndex({ name: 1, lockedAt: 1, nextRunAt: 1, priority: -1 }, {}, undefined);
let agenda: Agenda | null = null;

serveEngine({
  async fill(count) {
    await jobs.deleteMany({});
    for await (const messages of readMessages(deliverer.pool, count))
      await jobs.insertMany(messages.map((payload) => taskDocument("deliver", payload, new Date())));
  },
  async start() {
    agenda = new Agenda({
      backend: new MongoBackend({ mongo: mongo.db(), collection: COLLECTION, ensureIndex: false }),
      processEvery: 100,
      maxConcurrency: CONCURRENCY,
      defaultConcurrency: CONCURRENCY,
      defaultLockLimit: CONCURRENCY * 2,
      removeOnComplete: true,
    });
    // The handler has one parameter: with two, Agenda would wait for a callback.
    // oxlint-disable-next-line typescript/no-misused-promises
    agenda.define("deliver", (job: Job<Message>) => deliverer.deliver(job.attrs.data));
    await agenda.start();
  },
  async stop() {
    await agenda?.drain(5_000);
  },
});
