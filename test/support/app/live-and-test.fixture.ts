/** A partner with live data and test data of every kind, each with its own marker in all texts. */
import { expect } from "vitest";
import { scopes } from "../../../src/api-keys/api.ts";
import { fromTypedId, toTypedId, type IdPrefix } from "../../../src/core/ids.ts";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { join, raw, sql } from "../../../src/core/postgres/sql.ts";
import { eventually } from "../eventually.ts";
import { queryData } from "../graphql/client.ts";
import { VALID_PASSWORD } from "../accounts/session-client.ts";
import type { KnownValues } from "../graphql/known-values.ts";
import { createMarkedJobs } from "../graphql/tenant-canary.ts";
import { typedIdsOf } from "./organization-snapshot.ts";
import type { TestApp, TestOrganization } from "./app.fixture.ts";

/** The live or the test data of the partner. */
export interface Side extends KnownValues {
  organization: TestOrganization;
  /** Marking Numbers of its three jobs. */
  numbers: string[];
  /** One typed id by its prefix, such as `whe`. */
  idOf: Readonly<Record<string, string>>;
  /** Texts that no response to the other side may contain. */
  secrets: string[];
  /** The uuids of its organisation and of everything in it. */
  uuids: string[];
}

export async function createLiveAndTest(app: TestApp): Promise<{ live: Side; test: Side }> {
  const agent = await app.createOrganization("agent", { scopes });
  const created = await app.keys.create({
    organizationId: agent.id,
    name: "test",
    createdBy: "test",
    testSide: "agent",
    scopes,
  });
  const testAgent = { id: created.key.organization?.id ?? "", name: agent.name, key: created.text };
  await app.accounts.users.createUser(app.database, {
    organizationId: agent.id,
    role: "owner",
    email: "live-zq@test.example",
    name: "LIVE-zq owner",
    password: VALID_PASSWORD,
  });
  return {
    live: await fill(app, agent, "LIVE-zq"),
    test: await fill(app, testAgent, "TEST-zq"),
  };
}

/** Of `fill`. */
const LOGGED_REQUESTS = 5;

async function fill(app: TestApp, organization: TestOrganization, marker: string): Promise<Side> {
  const { id, key } = organization;
  const numbers = await createMarkedJobs(app, organization, { marker });
  // A second key, which requests can rotate and revoke.
  await app.keys.create({ organizationId: id, name: "second", createdBy: "test", scopes });
  const send = (method: string, path: string, body: object) =>
    app.call(path, { key, method, body: JSON.stringify(body) });
  const settings = { url: `http://127.0.0.1:9/${marker}`, description: marker };
  const endpoint = (await send("POST", "/v1/webhook-endpoints", settings)).body.data.endpoint.id as string;
  await app.call(`/v1/webhook-endpoints/${endpoint}/test`, { key, method: "POST" });
  await send("PATCH", `/v1/jobs/by-marking/${marker}-1`, { labels: `${marker} new` });
  const refused = await send("PATCH", `/v1/jobs/by-marking/${marker}-1`, { weight: marker });
  await queryData(app, "{ viewer { organization { id } } }", { key });
  await eventually(async () => {
    const rows = await app.database.query(sql`select from request_log where organization_id = ${id}::uuid`);
    expect(rows).toHaveLength(LOGGED_REQUESTS);
  });
  const ids = await typedIdsOf(app.database, id, {
    job: "job",
    evt: "job_event",
    whe: "webhook_endpoint",
    dlv: "webhook_delivery",
    att: "webhook_attempt",
    key: "api_key",
  });
  const cursors = await collectCursors(app, key);
  const uuids = [id, ...ids.map((each) => fromTypedId(each.slice(0, 3) as IdPrefix, each) ?? "")];
  const typed = [toTypedId("org", id), ...ids, refused.body.request_id];
  return {
    organization,
    numbers,
    ids: typed,
    cursors,
    texts: [numbers[0] ?? "", marker],
    idOf: Object.fromEntries(typed.map((each) => [each.slice(0, 3), each])),
    secrets: [marker, ...typed],
    uuids,
  };
}

async function collectCursors(app: TestApp, key: string): Promise<string[]> {
  const page = "(first: 1) { pageInfo { endCursor } }";
  const pages = await queryData(
    app,
    `{ jobs${page} events${page} webhookDeliveries${page} requestLog${page} }`,
    { key },
  );
  return Object.values(pages as Record<string, { pageInfo: { endCursor: string } }>).map(
    ({ pageInfo }) => pageInfo.endCursor,
  );
}

/** Returns each row that names one of `uuids`, by table, as exact JSON. Only the time of a key's last use is left out. */
export async function rowsWith(
  database: Queryable,
  uuids: readonly string[],
  except: readonly string[] = [],
): Promise<Record<string, string[]>> {
  const tables = await database.query<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname not like 'job_counter%' order by relname`);
  const sources = new Map([
    ...tables
      .filter(({ name }) => !except.includes(name))
      .map(({ name }) => [name, raw(`"${name}"`)] as const),
    ["counters", COUNTERS],
  ]);
  const all = Array.from(
    sources,
    ([name, from]) =>
      sql`select ${name}::text as name, (to_jsonb(each) - 'last_used_at')::text as row from ${from} each`,
  );
  const rows = await database.query<{ name: string; row: string }>(sql`
    select name, row from (${join(all, " union all ")}) rows
    where exists (select from unnest(${uuids}::text[]) uuid where strpos(row, uuid) > 0) order by name, row`);
  const found = Map.groupBy(rows, ({ name }) => name);
  return Object.fromEntries(
    Array.from(sources.keys(), (name) => [name, (found.get(name) ?? []).map(({ row }) => row)]),
  );
}

/** Counters with their changes, which are added to them in the background. */
const COUNTERS = sql`(
  select organization_id, kind, value, sum(count)::int as count from (
    select organization_id, kind, value, count from job_counter
    union all select organization_id, kind, value, change from job_counter_delta
  ) counted group by organization_id, kind, value having sum(count) <> 0
)`;
