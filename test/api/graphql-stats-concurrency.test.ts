import { beforeAll, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { eventually } from "../support/eventually.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { openTransaction } from "../support/database/blocked-sessions.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

/** Returns the number of sessions that wait to read jobs. */
async function countReaders(): Promise<number> {
  const waiting = await app.database.query(sql`
    select from pg_locks where not granted and mode = 'AccessShareLock' and relation = 'job'::regclass
      and database = (select oid from pg_database where datname = current_database())`);
  return waiting.length;
}

// evidence: job-stats-concurrency-limit
it("runs ten jobStats of one operation four at a time and leaves connections to other organisations", async () => {
  const [agent, other] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
  const lock = await openTransaction(app.database, sql`lock table job in access exclusive mode`);
  const fields = Array.from(
    { length: 10 },
    (_, index) => `s${index}: jobStats(groupBy: [BATCH]) { groups { count } }`,
  );
  const stats = graphql(app, `{ ${fields.join(" ")} }`, { key: agent.key });
  await eventually(async () => expect(await countReaders()).toBe(4));
  await queryData(app, "{ webhookEndpoints { id } }", { key: other.key });
  expect(await countReaders()).toBe(4);
  await lock.commit();
  expect(Object.keys((await stats).data)).toHaveLength(10);
});
