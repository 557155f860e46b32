import { request } from "node:http";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";
import { eventually } from "../support/eventually.ts";

/** Number of connections in the test server's pool. */
const POOL = 2;

let rig: GraphqlFixture;
let key: string;
let watcher: pg.Client;

beforeAll(async () => {
  rig = await startGraphqlFixture({
    // Longer than any test, so a query that ends earlier was cancelled.
    statementTimeoutMs: 600_000,
    typeDefs: "type Query { waits: Int word: String pid: Int }",
    resolvers: {
      Query: {
        waits: (_, __, { database }) => database.query(sql`select /* waits */ pg_sleep(600)`),
        word: () => "here",
        pid: async (_, __, { database }) =>
          (await database.query<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid,
      },
    },
  });
  key = await rig.newKey();
  watcher = new pg.Client(rig.databaseUrl);
  await watcher.connect();
});
afterAll(async () => {
  await watcher.end();
  await rig[Symbol.asyncDispose]();
});

/** Sends a query and returns a function that disconnects. */
function ask(query: string): { leave: () => void } {
  const sent = request(`${rig.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
  });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify({ query }));
  return { leave: () => void sent.destroy() };
}

const isLeft = ({ route, status }: Record<string, unknown>): boolean =>
  route === "/graphql" && status === 499;

async function untilWaiting(count: number): Promise<number[]> {
  return await eventually(
    async () => {
      const { rows } = await watcher.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like '%/* waits */%' and pid <> pg_backend_pid()",
      );
      expect(rows).toHaveLength(count);
      return rows.map(({ pid }) => pid);
    },
    { intervalMs: 10 },
  );
}

describe("a client that disconnects", () => {
  it("cancels its query in PostgreSQL, is logged as 499 without an error, and its connection is not reused", async () => {
    const before = rig.log.filter(isLeft).length;
    const { leave } = ask("{ waits }");
    const [pid] = await untilWaiting(1);
    leave();
    await untilWaiting(0);
    await eventually(async () => {
      const { rows } = await watcher.query("select from pg_stat_activity where pid = $1", [pid]);
      expect(rows).toHaveLength(0);
    });
    const { body } = await rig.post({ query: "{ pid }" }, { "x-api-key": key });
    expect(body.data.pid).not.toBe(pid);
    await eventually(() => expect(rig.log.filter(isLeft)).toHaveLength(before + 1));
    expect(rig.log.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("frees its place, also while it waits for a connection", async () => {
    const clients = Array.from({ length: POOL + 3 }, () => ask("{ waits }"));
    await untilWaiting(POOL);
    await eventually(() => expect(rig.readDatabase.pool().waiting).toBe(3));
    for (const { leave } of clients) leave();
    await untilWaiting(0);
    const { body } = await rig.post({ query: "{ pid }" }, { "x-api-key": key });
    expect(body.data.pid).toEqual(expect.any(Number));
    await eventually(() => expect(rig.readDatabase.pool().waiting).toBe(0));
  });

  it("does not cancel other clients' queries", async () => {
    const staying = rig.post({ query: "{ pid word }" }, { "x-api-key": key });
    const { leave } = ask("{ waits }");
    await untilWaiting(1);
    leave();
    await untilWaiting(0);
    expect((await staying).body.data).toMatchObject({ word: "here" });
    for (const _ of [1, 2, 3, 4]) {
      const { status } = await rig.post({ query: "{ pid }" }, { "x-api-key": key });
      expect(status).toBe(200);
    }
  });
});

it("the connections for GraphQL have their own settings besides the common ones", async () => {
  const [row] = await rig.readDatabase.query<Record<string, string>>(sql`
    select current_setting('statement_timeout') as statement_timeout, current_setting('plan_cache_mode') as plan_cache_mode,
      current_setting('TimeZone') as time_zone`);
  expect(row).toEqual({ statement_timeout: "10min", plan_cache_mode: "auto", time_zone: "UTC" });
});
