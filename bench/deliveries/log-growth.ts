/** Measures the cost of a delivery with more and more finished deliveries in the log. */
import type pg from "pg";
import { uuidV7Sql } from "../../src/core/ids.ts";
import { ensurePartitions } from "../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { createQueryable } from "../seed.ts";
import { drain, type DeliveryBench, type DrainResult } from "./backlog.ts";
import { rotate } from "./protocol.ts";
import { startEngine, type EngineProcess, type Sink, type DeliveryProcesses } from "./processes.ts";
import { createDeliveryDataset } from "./dataset.ts";

export interface LogGrowthResult {
  finished: number;
  drains: DrainResult[];
}

const LOG_SIZES = [10_000, 100_000, 1_000_000];
const DELIVERIES = 10_000;
const RETENTION_DAYS = 30;

export async function measureLogGrowth(
  processes: DeliveryProcesses,
  sink: Sink,
  { rounds, largest }: { rounds: number; largest: number },
): Promise<LogGrowthResult[]> {
  await using opened = new AsyncDisposableStack();
  const sides: { bench: DeliveryBench; engine: EngineProcess; result: LogGrowthResult }[] = [];
  for (const finished of LOG_SIZES.filter((size) => size <= largest)) {
    const name = `growth_${finished}`;
    const dataset = opened.use(
      await createDeliveryDataset(processes.postgresUrl, { name, events: DELIVERIES, sinkUrl: sink.url }),
    );
    const engine = opened.use(await startEngine("waymark", dataset.url, processes));
    await insertFinished(dataset.client, finished);
    await dataset.client.query("vacuum analyze");
    processes.onProgress(`${finished} finished deliveries`);
    sides.push({ bench: { processes, dataset, sink }, engine, result: { finished, drains: [] } });
  }
  for (let round = -1; round < rounds; round += 1)
    for (const { bench, engine, result } of rotate(sides, Math.max(0, round))) {
      const clear = async (): Promise<void> =>
        void (await bench.dataset.client.query("truncate webhook_delivery_pending"));
      const drainResult = await drain(bench, engine, { deliveries: DELIVERIES, isHanging: false }, clear);
      if (round >= 0) result.drains.push(drainResult);
    }
  return sides.map(({ result }) => result);
}

/** Inserts finished deliveries of the existing messages, spread over the last 28 days, each with one attempt. */
export async function insertFinished(client: pg.Client, count: number): Promise<void> {
  // A worker creates the partitions when it starts, and none has started yet.
  await ensurePartitions(createQueryable(client), Date.now(), RETENTION_DAYS);
  await client.query(INSERT_FINISHED, [count]);
}

const INSERT_FINISHED = `
  with made as materialized (
    select overlay(${uuidV7Sql.strings.join("")}::text placing
        substr(to_char_hex, 1, 8) || '-' || substr(to_char_hex, 9, 4) from 1 for 13)::uuid as id,
      event_id, endpoint
    from (
      select n, lpad(to_hex((extract(epoch from now() - interval '28 days' * random()) * 1000)::bigint), 12, '0') as to_char_hex
      from generate_series(1, $1::int) n
    ) numbered join bench_message on bench_message.n = numbered.n % ${DELIVERIES} + 1
  ), finished as (
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, attempts, outcome, finished_at)
    select made.id, bench_endpoint.id, event_id, 'job.status_changed', 'delivered', 1, 'delivered', now()
    from made join bench_endpoint on bench_endpoint.n = endpoint
  )
  insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, request_headers,
    response_headers, response_body)
  select gen_random_uuid(), id, 1, now(), 12, 'delivered', 200,
    json_build_object('content-type', 'application/json', 'user-agent', 'Waymark-Webhooks/1.0', 'webhook-id', id,
      'webhook-timestamp', '1795000000', 'webhook-signature', 'v1,' || repeat('x', 44)),
    json_build_object('content-type', 'text/plain', 'content-length', '2', 'date', now()), 'ok'
  from made`;
