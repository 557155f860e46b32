import { afterAll, beforeAll, expect, it } from "vitest";
import { sql } from "../../src/platform/postgres/sql.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

// evidence: job-stats-concurrency-limit
it("runs ten jobStats of one operation four at a time and leaves connections to other organisations", async () => {
  const [agent, other] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
  const lock = await openTransaction(app.database, sql`lock table job in access exclusive mode`);
  const fields = Array.from(
    { length: 10 },
    (_, index) => `s${index}: jobStats(groupBy: [BATCH]) { groups { count } }`,
  );
  const stats = graphql(app, `{ ${fields.join(" ")} }`, { key: agent.key });
  await waitForBlockedSessions(app.database, 4);
  await queryData(app, "{ webhookEndpoints { id } }", { key: other.key });
  const [row] = await app.database.query<{ waiting: number }>(sql`
    select count(*)::int as waiting from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`);
  expect(row?.waiting).toBe(4);
  await lock.commit();
  expect(Object.keys((await stats).data)).toHaveLength(10);
});
