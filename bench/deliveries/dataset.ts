/** The data of the delivery benchmarks: jobs, their events and 200 endpoints, in a new database for each run. */
import type pg from "pg";
import { toEventWire, type EventRow } from "../../src/events/wire.ts";
import { newUuid, uuidV7Sql, toTypedId } from "../../src/core/ids.ts";
import { createSecretBox } from "../../src/core/secret-box.ts";
import { newSecret, sealContext } from "../../src/webhooks/signing/secrets.ts";
import { ensurePartitions } from "../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { openDatabase, type BenchPostgres } from "../database.ts";
import { createQueryable, seed } from "../seed.ts";
import { ENDPOINTS, HANGING_ENDPOINTS, BENCH_SECRET } from "./protocol.ts";

export interface DeliveryDataset {
  url: string;
  client: pg.Client;
  /** Signing secrets, by endpoint number. */
  secrets: readonly string[];
}

const JOBS = 2_000;
const CHUNK = 2_000;
const MAX_IN_FLIGHT = 64;
const PER_SECOND = 1_000;

/** Creates the database. `events` is the size of the largest backlog. */
export async function createDeliveryDataset(
  server: BenchPostgres,
  { events, sinkUrl }: { events: number; sinkUrl: string },
): Promise<DeliveryDataset & AsyncDisposable> {
  let secrets: string[] = [];
  const database = await openDatabase(server, {
    name: "deliveries",
    isReused: false,
    async fill(client) {
      await seed(client, JOBS);
      await client.query(BENCH_TABLES);
      const { rows } = await client.query<{ id: string }>("select id from organization order by type, name");
      secrets = await insertEndpoints(
        client,
        rows.map(({ id }) => id),
      );
      await pointEndpoints(client, sinkUrl);
      await insertEvents(client, events);
    },
  });
  return { ...database, secrets };
}

/** The other engines record their attempts in `bench_attempt` and read endpoints and messages from the other two tables. */
export const BENCH_TABLES = `
  create table bench_attempt (like webhook_attempt including all);
  create table bench_endpoint (n int primary key, id uuid not null, secret text not null);
  create table bench_message (n int primary key, endpoint int not null, event_id uuid not null, id text not null, body text not null)`;

/** Sets the URLs of all endpoints and closes their circuits. With `hanging`, the first ones never answer. */
export async function pointEndpoints(
  client: pg.Client,
  sinkUrl: string,
  behaviour: "answering" | "hanging" | "flaky" = "answering",
): Promise<void> {
  await client.query(
    `update webhook_endpoint set circuit_step = null, blocked_until = null, version = version + 1,
       url = $1::text || case when n < $2 then '/hang/' else $3 end || n
     from bench_endpoint where bench_endpoint.id = webhook_endpoint.id`,
    [sinkUrl, behaviour === "hanging" ? HANGING_ENDPOINTS : 0, behaviour === "flaky" ? "/flaky/" : "/hook/"],
  );
}

const NO_RECEIVER = "http://127.0.0.1:1/";

/** Inserts endpoints without a receiver, distributed over the organisations (uuids) by rotation, and returns their secrets. */
export async function insertEndpoints(
  client: pg.Client,
  organizationIds: readonly string[],
  count = ENDPOINTS,
): Promise<string[]> {
  const box = createSecretBox(BENCH_SECRET);
  const secrets: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const [id, secret] = [newUuid(), newSecret()];
    secrets.push(secret);
    const sealed = [
      { sealed: box.seal(secret, sealContext(id)), created_at: new Date().toISOString(), expires_at: null },
    ];
    await client.query(
      `insert into webhook_endpoint (id, organization_id, url, secrets, max_in_flight, per_second, created_by)
       values ($1, $2, $3, $4, ${MAX_IN_FLIGHT}, ${PER_SECOND}, 'bench')`,
      [id, organizationIds[n % organizationIds.length], NO_RECEIVER, JSON.stringify(sealed)],
    );
    await client.query("insert into bench_endpoint values ($1, $2, $3)", [n, id, secret]);
  }
  return secrets;
}

/** Inserts status changes with a snapshot of the job, and the webhook bodies that Waymark would build for them. */
async function insertEvents(client: pg.Client, count: number): Promise<void> {
  for (let from = 1; from <= count; from += CHUNK) {
    const { rows } = await client.query<EventRow>(INSERT_EVENTS, [from, Math.min(count, from + CHUNK - 1)]);
    const viewer = { organizationId: "", organizationType: "agent" } as const;
    await client.query(
      `insert into bench_message select n, n % ${ENDPOINTS}, event_id, id, body
       from unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) made (n, event_id, id, body)`,
      [
        rows.map((_, at) => from + at),
        rows.map(({ id }) => id),
        rows.map(({ id }) => toTypedId("evt", id)),
        rows.map((row) =>
          JSON.stringify(toEventWire({ ...row, occurred_at: "2026-01-01 00:00:00+00" }, viewer)),
        ),
      ],
    );
  }
}

const INSERT_EVENTS = `
  insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, request_id, changes, job)
  select ${uuidV7Sql.strings.join("")}, 'job.status_changed', job.id, agent_id, contractor_id, n, 'system',
    'req_01JQ8ZC3T5KVA5Y8M6D9R2WXEH',
    jsonb_build_object('normalized_status', jsonb_build_object('from', 'in_transit', 'to', normalized_status),
      'updated_at', jsonb_build_object('from', created_at, 'to', updated_at)),
    to_jsonb(job)
  from generate_series($1::int, $2::int) n
    join (select job, row_number() over (order by id) as place from job) placed on place = n % ${JOBS} + 1
    cross join lateral (select (placed.job).*) job
  returning id, type, sequence, actor_type, actor_id, request_id, changes, job`;

const RETENTION_DAYS = 30;

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
    ) numbered join bench_message on bench_message.n = numbered.n % (select count(*) from bench_message) + 1
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
