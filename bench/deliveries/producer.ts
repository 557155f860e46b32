/** Commits job changes one by one at a steady rate, in its own process, and hands each to one engine. */
import { setTimeout as pause } from "node:timers/promises";
import { entities } from "../../src/app/entities.ts";
import { openDatabase } from "../../src/core/postgres/database.ts";
import { newUuid, toTypedId } from "../../src/core/ids.ts";
import { createNotifier } from "../../src/core/postgres/notify.ts";
import { raw, sql, type Sql } from "../../src/core/postgres/sql.ts";
import { fanOutSql } from "../../src/jobs/update/update-and-fan-out.sql.ts";
import { DELIVERIES_CHANNEL } from "../../src/webhooks/dispatcher/dispatcher.ts";
import { requireSetting } from "./harness.ts";
import { sharedNowMs, type EngineName, type Produced, type ProducerCommand } from "./protocol.ts";

const database = await openDatabase({ url: requireSetting("DATABASE_URL"), poolSize: 20, entities });
const notify = createNotifier(database, DELIVERIES_CHANNEL);
const messages = await database.query<{ event_id: string; body: string }>(
  sql`select event_id, body from bench_message order by n limit 2000`,
);

const MAX_IN_FLIGHT = 200;
/** Sequences are unique per job; these are higher than any in the data. */
let sequence = 1_000_000;

/** Inserts the event, as the statement that changes a job does. `notification` is a further step of the same statement. */
function change(id: string, source: string, notification: Sql): Sql {
  return sql`with recorded as (
      insert into job_event
        (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, changes, job)
      select ${id}::uuid, type, job_id, agent_id, null, ${(sequence += 1)}::int, actor_type, actor_id, request_id, changes, job
      from job_event where id = ${source}::uuid
      returning id, type, job_id, agent_id, contractor_id
    ) ${notification}`;
}

/** Returns the time when the commit was confirmed. */
async function produce(engine: EngineName, id: string, index: number): Promise<number> {
  const { event_id: source, body } = messages[index % messages.length] as { event_id: string; body: string };
  const message = { endpoint: index % 100, id: toTypedId("evt", id), body };
  let notification = sql`select from recorded`;
  if (engine === "waymark")
    notification = sql`, notification as (${fanOutSql(raw("recorded"))}) select from notification`;
  if (engine === "graphile-worker")
    notification = sql`select from graphile_worker.add_job('deliver', ${JSON.stringify(message)}::json)`;
  await database.query(change(id, source, notification));
  const committedMs = sharedNowMs();
  if (engine === "waymark") notify();
  return committedMs;
}

/** Keeps the rate if PostgreSQL can. Latency counts from each commit, so a late commit does not distort it. */
async function run({ engine, perSecond, count }: ProducerCommand): Promise<Produced> {
  const produced: Produced = new Map();
  const startedMs = sharedNowMs();
  let started = 0;
  const begin = async (at: number): Promise<void> => {
    const id = newUuid();
    produced.set(toTypedId("evt", id), await produce(engine, id, at));
  };
  while (produced.size < count) {
    const due = Math.min(count, Math.floor(((sharedNowMs() - startedMs) / 1000) * perSecond) + 1);
    for (; started < due && started - produced.size < MAX_IN_FLIGHT; started += 1) void begin(started);
    await pause(1);
  }
  return produced;
}

process.on(
  "message",
  (command: ProducerCommand) => void run(command).then((produced) => process.send?.(produced)),
);
process.once("disconnect", () => process.exit());
process.send?.({ done: true });
