/** A Waymark worker as in production: the dispatcher, with Agenda as its timer. */
import pg from "pg";
import { Registry } from "prom-client";
import type { Services } from "../../src/app/services.ts";
import { startWorker } from "../../src/app/worker.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { entities } from "../../src/app/entities.ts";
import { openDatabase } from "../../src/core/postgres/database.ts";
import { systemClock } from "../../src/core/clock.ts";
import { uuidV7Sql } from "../../src/core/ids.ts";
import { createLogger } from "../../src/core/logger.ts";
import { Scheduler } from "../../src/scheduling/api.ts";
import { openMongo } from "../../src/core/mongo.ts";
import { createSecretBox } from "../../src/core/secret-box.ts";
import { ensurePartitions } from "../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { openSender, serveEngine, requireSetting } from "./harness.ts";
import { BENCH_SECRET } from "./protocol.ts";

const databaseUrl = requireSetting("DATABASE_URL");
const mongo = openMongo({ url: requireSetting("MONGODB_URL") });
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
await client.query("set pg_stat_statements.track = 'none'");
const config = toConfig(readEnv({}));
const database = await openDatabase({ url: databaseUrl, poolSize: 1, entities });
let worker: AsyncDisposable | null = null;

async function start(): Promise<void> {
  await ensurePartitions(database, systemClock.now(), config.retentionDays);
  worker = await startWorker(
    {
      config,
      databaseUrl,
      database,
      clock: systemClock,
      logger: createLogger("info"),
      registry: new Registry(),
      secretBox: createSecretBox(BENCH_SECRET),
    },
    {
      scheduleStep: () => undefined,
      scheduler: new Scheduler({ mongo, logger: createLogger("info") }),
      services: {
        sender: openSender(),
        endpoints: { disableFailing: () => Promise.resolve([]) },
        deliveries: { purgeExpired: () => Promise.resolve({ deleted: 0, dropped: [] }) },
        requests: { purgeExpired: () => Promise.resolve([]) },
        notificationWorker: { sweep: () => Promise.resolve(), remind: () => Promise.resolve() },
      } as unknown as Services,
    },
  );
}

serveEngine({
  async fill(count) {
    await client.query(
      `insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
       select ${uuidV7Sql.strings.join("")}, bench_endpoint.id, event_id, 'job.status_changed', job_id
       from bench_message join job_event on job_event.id = event_id join bench_endpoint on bench_endpoint.n = endpoint
       where bench_message.n <= $1 order by bench_message.n`,
      [count],
    );
    await client.query("analyze webhook_delivery_pending");
  },
  start,
  async stop() {
    // The database is kept for the next round.
    await worker?.[Symbol.asyncDispose]();
  },
});
