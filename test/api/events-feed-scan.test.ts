/** The feed filtered by type, with many events of other types. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEventService } from "../../src/events/service.ts";
import type { Queryable } from "../../src/core/postgres/database.ts";
import { fromTypedId, uuidV7Sql } from "../../src/core/ids.ts";
import { systemActor, type Principal } from "../../src/core/principal.ts";
import { sql, type Sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import {
  waitForFeedEvents,
  getFeed,
  waitUntilFeedIsComplete,
  type FeedEvent,
} from "../support/app/feed-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const MAX_READ = 10_000;
const EVENTS = 40_000;
/** Sequences of the `job.assigned` events: adjacent ones, and the first and last of the scan range. */
const ASSIGNED = [2, 3, 9_999, 10_000, 10_001, 10_002, 35_000];

let app: TestApp;
let agent: TestOrganization;
let viewer: Principal;

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await app.createOrganization("agent");
  const organizationId = fromTypedId("org", agent.id) ?? agent.id;
  viewer = { organizationId, organizationType: "agent", actor: systemActor };
  await app.createJobs(agent, [{}]);
  await waitForFeedEvents(app, agent, 1);
  await app.database.query(sql`
    insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
    select ${uuidV7Sql}, case when n = any(${ASSIGNED}::int[]) then 'job.assigned' else 'job.updated' end,
      job_id, agent_id, n, actor_type, changes, job
    from job_event cross join generate_series(2, ${EVENTS}::int) n where agent_id = ${organizationId} order by n`);
  await app.database.query(sql`analyze job_event`);
  await waitUntilFeedIsComplete(app.database);
});
afterAll(() => app[Symbol.asyncDispose]());

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

function rowsRead(node: PlanNode): number {
  const own =
    node["Relation Name"] === "job_event"
      ? (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"]
      : 0;
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), own);
}

/** Wraps the test database and adds the rows that each statement reads of `job_event` to `read`. */
function counting(read: number[]): Queryable {
  return {
    async query<Row>(statement: Sql): Promise<Row[]> {
      const [row] = await app.database.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
        sql`explain (analyze, format json) ${statement}`,
      );
      if (row) read.push(rowsRead(row["QUERY PLAN"][0].Plan));
      return await app.database.query<Row>(statement);
    },
  };
}

describe("the feed with types", () => {
  // evidence: events-feed-scan-limit
  it("reads at most 10,000 visible events per page, in REST and GraphQL", async () => {
    const read: number[] = [];
    const events = createEventService({ database: counting(read), clock: createFakeClock() });
    const query = { after: null, types: ["job.status_changed"], limit: 100 } as const;
    const page = await events.feedWithJobs(viewer, query);
    expect(page).toMatchObject({ items: [], hasMore: true });
    expect(await events.feed(viewer, query)).toMatchObject({ items: [], hasMore: true });
    await events.feed(viewer, { ...query, after: page.end });
    expect(read).toHaveLength(3);
    // A cursor also needs the first event after it and the start of the feed.
    expect(Math.max(...read)).toBeLessThanOrEqual(MAX_READ + 2);
  });

  // evidence: events-feed-scan-stops-at-full-page
  it("stops reading when the page is full", async () => {
    const read: number[] = [];
    const events = createEventService({ database: counting(read), clock: createFakeClock() });
    const query = { after: null, types: ["job.updated"], limit: 10 } as const;
    expect(await events.feed(viewer, query)).toMatchObject({ hasMore: true });
    expect(read[0]).toBeLessThan(100);
  });

  // evidence: events-feed-filtered-pages-rest
  it.each([1, 2, 100])(
    "returns every matching event once across short and empty pages of %i in REST",
    async (size) => {
      const sequences: number[] = [];
      const pages: number[] = [];
      let query = `types=job.assigned&page_size=${size}`;
      for (let isMore = true; isMore;) {
        const data = expectData(await getFeed(app, agent, query));
        const items = data.items as FeedEvent[];
        sequences.push(...items.map((event) => event.data.sequence));
        pages.push(items.length);
        isMore = data.has_more as boolean;
        query = `types=job.assigned&page_size=${size}&after=${data.next_cursor as string}`;
      }
      expect(sequences).toEqual(ASSIGNED);
      expect(pages).toContain(0);
    },
  );
});
