/** A worker of Waymark: the dispatcher with its listener, its watch, its metrics and Agenda as its timer. */
import pg from "pg";
import { Registry } from "prom-client";
import { entities } from "../../src/entities.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/database.ts";
import { newUuidSql } from "../../src/platform/ids.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { openMongo } from "../../src/platform/mongo.ts";
import { createSecretBox } from "../../src/platform/secret-box.ts";
import { createScheduler } from "../../src/scheduling/scheduler.ts";
import { createWakeUps, webhookHandlers } from "../../src/scheduling/webhook-tasks.ts";
import { ensurePartitions } from "../../src/webhooks/partitions.ts";
import { DEFAULT_SCHEDULE_TEXT, parseSchedule, type Schedule } from "../../src/webhooks/retry-policy.ts";
import { startWebhookWorker } from "../../src/webhooks/worker.service.ts";
import { openSender, serveEngine, setting } from "./kit.ts";
import { SECRET } from "./protocol.ts";

const databaseUrl = setting("DATABASE_URL");
const database = await openDatabase({ url: databaseUrl, poolSize: 10, entities });
const mongo = openMongo({ url: setting("MONGODB_URL") });
const client = new pg.Client({ connectionString: databaseUrl });
await client.connect();
await client.query("set pg_stat_statements.track = 'none'");
await ensurePartitions(database, systemClock.now());
const logger = createLogger("info");
const sender = openSender();
const { schedule } = parseSchedule(DEFAULT_SCHEDULE_TEXT) as { schedule: Schedule };
let running: AsyncDisposableStack | null = null;

async function start(): Promise<void> {
  const opened = new AsyncDisposableStack();
  const scheduler = opened.use(createScheduler({ mongo, logger }));
  const worker = opened.use(
    await startWebhookWorker({
      database,
      databaseUrl,
      sender,
      box: createSecretBox(SECRET),
      wakeAt: (endpointId, atMs) => createWakeUps(scheduler).wakeAt(endpointId, atMs),
      schedule,
      clock: systemClock,
      logger,
      registry: new Registry(),
      retentionDays: 30,
    }),
  );
  scheduler.start(
    webhookHandlers({
      fallDue: (endpointId) => worker.fallDue(endpointId),
      sweep: () => worker.sweep(),
      disableFailing: () => Promise.resolve(),
      retire: () => Promise.resolve(),
    }),
  );
  running = opened;
}

serveEngine({
  async fill(count) {
    await client.query(
      `insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
       select ${newUuidSql.strings.join("")}, bench_endpoint.id, event_id, 'job.status_changed', job_id
       from bench_message join job_event on job_event.id = event_id join bench_endpoint on bench_endpoint.n = endpoint
       where bench_message.n <= $1 order by bench_message.n`,
      [count],
    );
    await client.query("analyze webhook_delivery_pending");
  },
  start,
  async stop() {
    await running?.disposeAsync();
  },
});
