/** The data of the delivery benchmarks: jobs, their events and 200 endpoints, in a new database for each run. */
import pg from "pg";
import { toEventWire, type EventRow } from "../../src/events/wire.ts";
import { entities } from "../../src/app/entities.ts";
import { newUuid, uuidV7Sql, toTypedId } from "../../src/core/ids.ts";
import { migrateDatabase } from "../../src/core/postgres/migrate.ts";
import { createSecretBox } from "../../src/core/secret-box.ts";
import { sealContext } from "../../src/webhooks/signing/secrets.ts";
import { newSecret } from "../../src/webhooks/signing/signature.ts";
import { recreateDatabase } from "../temporary-database.ts";
import { seed } from "../seed.ts";
import { ENDPOINTS, HANGING_ENDPOINTS, BENCH_SECRET } from "./protocol.ts";

export interface DeliveryDataset extends AsyncDisposable {
  url: string;
  client: pg.Client;
  /** Signing secrets, by endpoint number. */
  secrets: string[];
  /** Empties all queues and logs. */
  clear(): Promise<void>;
  /** Makes the first endpoints hang, or answer again. */
  setHanging(isHanging: boolean): Promise<void>;
  /** Returns the number of statements since the last call, without those of the benchmark itself. */
  takeStatementCount(): Promise<number>;
}

const JOBS = 2_000;
const CHUNK = 2_000;
const MAX_IN_FLIGHT = 64;
const PER_SECOND = 1_000;

/** Creates the database. `events` is the size of the largest backlog; all endpoints point to `sinkUrl`. */
export async function createDeliveryDataset(
  serverUrl: string,
  { name, events, sinkUrl }: { name: string; events: number; sinkUrl: string },
): Promise<DeliveryDataset> {
  await recreateDatabase(serverUrl, name);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  await migrateDatabase({ url, poolSize: 2, entities });
  const client = new pg.Client({ connectionString: url, application_name: "bench" });
  await client.connect();
  await client.query("set pg_stat_statements.track = 'none'");
  await client.query("create extension pg_stat_statements");
  await seed(client, JOBS, () => undefined);
  await client.query(BENCH_TABLES);
  const { rows } = await client.query<{ id: string }>("select id from organization order by type, name");
  const secrets = await insertEndpoints(
    client,
    sinkUrl,
    rows.map(({ id }) => id),
  );
  await insertEvents(client, events);
  await client.query("vacuum analyze");
  return openDeliveryDataset(url, client, secrets);
}

/** Wraps an existing database. */
export function openDeliveryDataset(url: string, client: pg.Client, secrets: string[]): DeliveryDataset {
  return {
    url,
    client,
    secrets,
    async clear() {
      await client.query("truncate webhook_delivery, webhook_attempt, bench_attempt");
      await client.query("update webhook_endpoint set circuit_step = null, blocked_until = null");
    },
    async setHanging(isHanging) {
      await client.query(
        `update webhook_endpoint set url = replace(url, $2, $3), version = version + 1
         where id in (select id from bench_endpoint where n < $1) and strpos(url, $2) > 0`,
        [HANGING_ENDPOINTS, ...(isHanging ? ["/hook/", "/hang/"] : ["/hang/", "/hook/"])],
      );
    },
    async takeStatementCount() {
      const { rows } = await client.query<{ calls: number }>(
        `select coalesce(sum(calls), 0)::int as calls from pg_stat_statements
         where dbid = (select oid from pg_database where datname = current_database())`,
      );
      await client.query("select pg_stat_statements_reset()");
      return rows[0]?.calls ?? 0;
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** The other engines record their attempts in `bench_attempt` and read endpoints and messages from the other two tables. */
export const BENCH_TABLES = `
  create table bench_attempt (like webhook_attempt including all);
  create table bench_endpoint (n int primary key, id uuid not null, url text not null, secret text not null);
  create table bench_message (n int primary key, endpoint int not null, event_id uuid not null, id text not null, body text not null)`;

/** Inserts endpoints, distributed over the organisations (uuids) by rotation, and returns their secrets. */
export async function insertEndpoints(
  client: pg.Client,
  sinkUrl: string,
  organizationIds: readonly string[],
  count = ENDPOINTS,
): Promise<string[]> {
  const box = createSecretBox(BENCH_SECRET);
  const secrets: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const [id, secret, url] = [newUuid(), newSecret(), `${sinkUrl}/hook/${n}`];
    secrets.push(secret);
    const sealed = [
      { sealed: box.seal(secret, sealContext(id)), created_at: new Date().toISOString(), expires_at: null },
    ];
    await client.query(
      `insert into webhook_endpoint (id, organization_id, url, secrets, max_in_flight, per_second, created_by)
       values ($1, $2, $3, $4, ${MAX_IN_FLIGHT}, ${PER_SECOND}, 'bench')`,
      [id, organizationIds[n % organizationIds.length], url, JSON.stringify(sealed)],
    );
    await client.query("insert into bench_endpoint values ($1, $2, $3, $4)", [n, id, url, secret]);
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
